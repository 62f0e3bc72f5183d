/**
 * A real API server of Kubernetes on etcd, on free ports of 127.0.0.1, without nodes: objects are stored, validated
 * and authorized as in every cluster, and nothing runs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killChild } from "../kill.ts";
import { freePorts } from "../network/free-port.ts";
import { until } from "../serve.ts";
import { type KubernetesProgram, kubernetesProgram } from "./binaries.ts";
import { installationCrd } from "./installation-crd.ts";

export const testNamespace = "clickhouse";

/** A server that starts may accept a connection and never answer on it. */
const answerMs = 20_000;

/** Who may do what: `admin` everything, the others what the test grants them. */
const tokens = { admin: "token-of-admin", nobody: "token-of-nobody", millrace: "token-of-millrace" };

export type ClusterUser = keyof typeof tokens;

export type ApiAnswer = { readonly status: number; readonly body: Record<string, unknown> };

export class TestCluster implements AsyncDisposable {
  readonly dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "mr-kube-"));
  readonly #ports: { readonly etcd: number; readonly peer: number; readonly api: number };
  #etcd: ChildProcess | undefined;
  #server: ChildProcess | undefined;
  #agent: Agent | undefined;
  /** Programs that are clients of the API server. */
  readonly #clients: ChildProcess[] = [];
  readonly #logs = new Map<string, string>();

  private constructor([etcd = 0, peer = 0, api = 0]: readonly number[]) {
    this.#ports = { etcd, peer, api };
  }

  /** With the namespace of services and the kind `ClickHouseInstallation`. */
  static async start(): Promise<TestCluster> {
    const cluster = new TestCluster(await freePorts(3));
    try {
      cluster.#prepare();
      cluster.#etcd = cluster.#spawn("etcd", cluster.#etcdFlags());
      await cluster.startServer();
      await cluster.#fill();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  get url(): string {
    return `https://127.0.0.1:${this.#ports.api}`;
  }

  /** A kubeconfig of the user. */
  configFile(user: ClusterUser): string {
    const file = join(this.dir, `${user}.kubeconfig`);
    const cluster = { server: this.url, "certificate-authority": join(this.dir, "certs", "apiserver.crt") };
    const content = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster }],
      users: [{ name: user, user: { token: tokens[user] } }],
      contexts: [{ name: "test", context: { cluster: "test", user, namespace: testNamespace } }],
      "current-context": "test",
    };
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    return file;
  }

  /** Resolves when it is ready. */
  async startServer(): Promise<void> {
    const server = this.#spawn("kube-apiserver", this.#serverFlags());
    this.#server = server;
    await until("the API server is ready", async () => {
      if (server.exitCode !== null) throw new Error(`the API server ended:\n${this.#log("kube-apiserver")}`);
      return (await this.call("GET", "/readyz").catch(() => undefined))?.status === 200;
    });
  }

  async killServer(): Promise<void> {
    await killChild(this.#server);
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  /** A request as `admin`. `type` is the type of the body. */
  async call(method: string, path: string, body?: unknown, type = "application/json"): Promise<ApiAnswer> {
    const ca = join(this.dir, "certs", "apiserver.crt");
    if (!existsSync(ca)) throw new Error("the API server has no certificate yet");
    this.#agent ??= new Agent({ ca: readFileSync(ca), keepAlive: true });
    const headers = { authorization: `Bearer ${tokens.admin}`, "content-type": type };
    const agent = this.#agent;
    return await new Promise((resolve, reject) => {
      const options = { method, headers, agent, timeout: answerMs };
      const sent = request(`${this.url}${path}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = response.headers["content-type"]?.includes("json") === true;
          resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : { text } });
        });
      });
      sent.on("error", reject);
      sent.on("timeout", () => sent.destroy(new Error(`${method} ${path}: no answer within ${answerMs} ms`)));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Throws for an answer that is not a success. */
  async must(method: string, path: string, body?: unknown, type?: string): Promise<Record<string, unknown>> {
    const { status, body: answer } = await this.call(method, path, body, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Runs a client of the API server until the cluster ends. */
  run(name: KubernetesProgram, flags: readonly string[]): void {
    this.#clients.push(this.#spawn(name, [`--kubeconfig=${this.configFile("admin")}`, ...flags]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map(killChild));
    await this.killServer();
    await killChild(this.#etcd);
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #fill(): Promise<void> {
    await this.must("POST", "/api/v1/namespaces", { metadata: { name: testNamespace } });
    const kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await this.must("POST", kinds, installationCrd);
    await until("the kind is served", async () => {
      const path = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
      return (await this.call("GET", path)).status === 200;
    });
  }

  #prepare(): void {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const write = (name: string, text: string) => writeFileSync(join(this.dir, name), text, { mode: 0o600 });
    write("sa.key", privateKey.export({ type: "pkcs1", format: "pem" }) as string);
    const groups = (user: ClusterUser) => (user === "admin" ? '"system:masters"' : '"tests"');
    const users = Object.entries(tokens) as [ClusterUser, string][];
    write("tokens.csv", users.map(([user, token]) => `${token},${user},${user},${groups(user)}\n`).join(""));
    mkdirSync(join(this.dir, "certs"));
  }

  #etcdFlags(): string[] {
    const client = `http://127.0.0.1:${this.#ports.etcd}`;
    const peer = `http://127.0.0.1:${this.#ports.peer}`;
    return [
      ...["--data-dir", join(this.dir, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client],
      ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
      ...["--unsafe-no-fsync", "--logger=zap", "--log-level=error"],
    ];
  }

  #serverFlags(): string[] {
    const key = join(this.dir, "sa.key");
    return [
      ...[`--etcd-servers=http://127.0.0.1:${this.#ports.etcd}`, `--secure-port=${this.#ports.api}`],
      ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", `--cert-dir=${join(this.dir, "certs")}`],
      ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
      ...["--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16"],
      ...[`--token-auth-file=${join(this.dir, "tokens.csv")}`, "--authorization-mode=RBAC"],
      ...["--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"],
    ];
  }

  #spawn(name: KubernetesProgram, flags: readonly string[]): ChildProcess {
    const child = spawn(kubernetesProgram(name), flags, { stdio: ["ignore", "pipe", "pipe"], cwd: this.dir });
    const keep = (chunk: Buffer) => {
      this.#logs.set(name, (this.#log(name) + String(chunk)).slice(-4096));
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    return child;
  }

  #log(name: string): string {
    return this.#logs.get(name) ?? "";
  }
}
