/**
 * The Altinity operator itself with its own definitions, from the folder `MILLRACE_OPERATORS`: a checkout of its
 * repository in which `go build -o operator ./cmd/operator` was run. The controllers and the scheduler of Kubernetes
 * run beside it, and `PodHost` takes the place of a node.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, parseDocument } from "yaml";
import { killChild } from "../kill.ts";
import { until } from "../serve.ts";
import { kubernetesMissing } from "./binaries.ts";
import { TestCluster, testNamespace } from "./cluster.ts";
import { installationCrd } from "./installation-crd.ts";
import { startControllers } from "./nodes.ts";
import { operatorUser, PodHost } from "./pod-host.ts";

const folder = process.env.MILLRACE_OPERATORS;
const program = "operator";
const configuration = "config/config.yaml";
const definitions = "deploy/operator/clickhouse-operator-install-bundle.yaml";
const kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** What a reconciliation waits for a pod, in seconds, before it is given up. */
const patienceS = 25;

/** Why the operator cannot be run here; undefined when it can. */
export function altinityMissing(): string | undefined {
  if (folder === undefined) return "MILLRACE_OPERATORS names no folder with it (docs/kubernetes.md)";
  const absent = [program, configuration, definitions].filter((file) => !existsSync(join(folder, file)));
  if (absent.length > 0) return `${folder} has no ${absent.join(", ")} (docs/kubernetes.md)`;
  if (process.env.MILLRACE_OWN_HOSTS === undefined)
    return "only npm run test:kubernetes gives it host names of its own";
  return kubernetesMissing();
}

export class AltinityCluster implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly host: PodHost;
  #operator: ChildProcess | undefined;

  private constructor(cluster: TestCluster) {
    this.cluster = cluster;
    this.host = new PodHost(cluster);
  }

  static async start(): Promise<AltinityCluster> {
    const stage = new AltinityCluster(await TestCluster.start());
    try {
      await stage.#define();
      await startControllers(stage.cluster);
      await stage.host.addNode();
      await stage.#startOperator(folder as string);
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await killChild(this.#operator);
    await this.host[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }

  /** The operator's definitions in place of ours. */
  async #define(): Promise<void> {
    const ours = `${kinds}/${installationCrd.metadata.name}`;
    await this.cluster.must("DELETE", ours);
    await until("our kind is gone", async () => (await this.cluster.call("GET", ours)).status === 404);
    const documents = parseAllDocuments(readFileSync(join(folder as string, definitions), "utf8"), { merge: true });
    for (const document of documents) {
      const object = document.toJSON() as { readonly kind?: string } | null;
      if (object?.kind === "CustomResourceDefinition") await this.cluster.must("POST", kinds, object);
    }
    const served = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
    await until("the kind is served", async () => (await this.cluster.call("GET", served)).status === 200);
  }

  async #startOperator(from: string): Promise<void> {
    const dir = join(this.cluster.dir, "operator");
    cpSync(join(from, "config"), dir, { recursive: true });
    const config = parseDocument(readFileSync(join(from, configuration), "utf8"));
    const changes: readonly (readonly [path: readonly string[], value: string | number])[] = [
      [["clickhouse", "access", "username"], operatorUser.name],
      [["clickhouse", "access", "password"], operatorUser.password],
      [["clickhouse", "access", "secret", "name"], ""],
      [["reconcile", "statefulSet", "create", "onFailure"], "abort"],
      [["reconcile", "statefulSet", "update", "onFailure"], "abort"],
      [["reconcile", "statefulSet", "update", "timeout"], patienceS],
      [["reconcile", "statefulSet", "update", "pollInterval"], 1],
    ];
    for (const [path, value] of changes) config.setIn(path, value);
    writeFileSync(join(dir, "config.yaml"), String(config));
    // It looks its own pod up by name.
    await this.cluster.must("POST", `/api/v1/namespaces/${testNamespace}/pods`, {
      metadata: { name: "operator" },
      spec: { nodeName: "elsewhere", containers: [{ name: "operator", image: "operator" }] },
    });
    const kubeconfig = this.cluster.configFile("admin");
    const flags = ["-kubeconfig", kubeconfig, "-config", join(dir, "config.yaml"), "-logtostderr=true", "-v=1"];
    const own = { OPERATOR_POD_NAME: "operator", OPERATOR_POD_NAMESPACE: testNamespace, OPERATOR_POD_IP: "127.0.0.1" };
    const watched = { WATCH_NAMESPACE: testNamespace, WATCH_NAMESPACES: testNamespace };
    const log = openSync(join(dir, "log"), "w");
    this.#operator = spawn(join(from, program), flags, {
      ...{ cwd: dir, stdio: ["ignore", log, log] },
      env: {
        ...process.env,
        HOME: dir,
        KUBECONFIG: kubeconfig,
        OPERATOR_POD_NODE_NAME: "elsewhere",
        ...own,
        ...watched,
      },
    });
  }
}
