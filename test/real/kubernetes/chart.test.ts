/** The Helm chart and the plain manifests, judged by a real API server without being stored. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { chartManifests, chartText, type Manifest } from "../../../harness/kubernetes/chart.ts";
import { TestCluster } from "../../../harness/kubernetes/cluster.ts";
import { startNodes } from "../../../harness/kubernetes/nodes.ts";
import { until } from "../../../harness/serve.ts";
import { root } from "../../../scripts/house.ts";
import { environmentName, loadConfig, settings } from "../../../src/config.ts";

const missing = kubernetesMissing();
if (missing !== undefined) console.warn(`The Helm chart is not tested: ${missing}.`);

const plain = "deploy/kubernetes/millrace.yaml";
const secret = (name: string) => ({ name: "millrace", key: name });
const onPostgres = { existingSecrets: { database: secret("database"), secretKey: secret("secret-key") } };
const severalServers = { ...onPostgres, replicas: 2, workers: { replicas: 3, slots: 50 } };
const behindIngress = {
  ...severalServers,
  service: { endpoints: { count: 0 } },
  gateway: {
    domain: "ch.example.com",
    tls: { existingSecret: "wildcard" },
    ingress: { enabled: true, className: "nginx", annotations: { a: "b" } },
  },
  networkPolicy: { enabled: true },
};
/** Everything that is off by default, and every list and map that may be given. */
const everything = {
  image: { repository: "registry.example.com/millrace", tag: "1.2.3", pullPolicy: "Always" },
  imagePullSecrets: [{ name: "registry" }],
  settings: { logLevel: "debug", pipeWorkers: 8, requireConfinement: true, publicUrl: "https://millrace.example.com" },
  existingSecrets: { metricsToken: secret("metrics-token"), secretKey: secret("secret-key") },
  tls: { existingSecret: "certificate" },
  clickhouse: { storageClass: "fast", keeper: "keeper-0:2181,keeper-1:2181", volumes: "delete" },
  persistence: { size: "5Gi", storageClass: "fast" },
  service: {
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
    annotations: { a: "b" },
    port: 443,
    endpoints: { first: 30_000, count: 3 },
  },
  gateway: {
    domain: "ch.example.com",
    port: 9443,
    tls: { existingSecret: "wildcard" },
    publicUrl: "https://ch.example.com",
  },
  serviceAccount: { annotations: { a: "b" } },
  podAnnotations: { a: "b" },
  podLabels: { a: "b" },
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "data", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  networkPolicy: { enabled: true, from: [{ podSelector: { matchLabels: { app: "client" } } }] },
};

type Container = { readonly env: readonly { name: string; value?: string; valueFrom?: object }[] };
type Workload = Manifest & {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Container[]; readonly volumes: readonly object[] };
    };
  };
};
type Service = { readonly spec: { readonly ports: readonly { readonly name: string; readonly port: number }[] } };
const workloadOf = (manifests: readonly Manifest[]) =>
  manifests.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment") as Workload;
const environmentOf = (manifests: readonly Manifest[]) =>
  workloadOf(manifests).spec.template.spec.containers[0]?.env ?? [];

type Slice = {
  readonly endpoints?: readonly { readonly conditions: { readonly ready: boolean } }[];
  readonly ports?: readonly { readonly port: number }[];
};

const plurals: Readonly<Record<string, string>> = { Ingress: "ingresses", NetworkPolicy: "networkpolicies" };

function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  return `${base}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
}

describe.skipIf(missing !== undefined)("the Helm chart", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    await cluster.must("POST", "/api/v1/namespaces", { metadata: { name: "millrace" } });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());
  const apply = (manifest: Manifest, query: string) =>
    cluster.call("PATCH", `${pathOf(manifest)}?${query}`, manifest, "application/apply-patch+yaml");

  test.each([
    ["its defaults", {}],
    ["metadata on Postgres", onPostgres],
    ["everything", everything],
    ["several servers, and workers", severalServers],
    ["a gateway behind an Ingress, and no ports", behindIngress],
    [
      "pools of workers",
      {
        ...onPostgres,
        workers: { replicas: 1, pools: [{ name: "kafka", pipeKinds: ["messageBroker"] }] },
      },
    ],
    [
      "a claim that exists, and no services in Kubernetes",
      { clickhouse: { enabled: false }, persistence: { existingClaim: "c" } },
    ],
  ])("with %s is accepted by the API server, every field of it known", async (_name, values) => {
    const manifests = chartManifests({ values });
    expect(manifests.length).toBeGreaterThan(3);
    for (const manifest of manifests) {
      const { status, body } = await apply(manifest, "dryRun=All&fieldManager=test&fieldValidation=Strict");
      expect([manifest.kind, status, status < 300 ? "" : body.message]).toEqual([manifest.kind, 201, ""]);
    }
  });

  test("is rolled out: the pod has its volume and is ready, and Service and disruption budget find it", async () => {
    await startNodes(cluster);
    await cluster.must("POST", "/api/v1/persistentvolumes", {
      metadata: { name: "disk-1" },
      spec: {
        capacity: { storage: "50Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/none" },
      },
    });
    for (const manifest of chartManifests()) await apply(manifest, "fieldManager=test");
    const status = async (path: string) => (await cluster.must("GET", path)).status as Record<string, unknown>;
    const namespaced = (group: string) => `/apis/${group}/namespaces/millrace`;
    await until("the pod is ready", async () => {
      return (await status(`${namespaced("apps/v1")}/statefulsets/millrace`)).readyReplicas === 1;
    });
    expect(await status("/api/v1/namespaces/millrace/persistentvolumeclaims/data-millrace-0")).toMatchObject({
      phase: "Bound",
    });
    await until("the budget counts it", async () => {
      return (await status(`${namespaced("policy/v1")}/poddisruptionbudgets/millrace`)).currentHealthy === 1;
    });
    await until("the Service has it", async () => {
      const path = `${namespaced("discovery.k8s.io/v1")}/endpointslices?labelSelector=kubernetes.io/service-name=millrace`;
      const { items } = (await cluster.must("GET", path)) as { items: Slice[] };
      const ready = items.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions.ready);
      return ready.length === 1 && items.flatMap(({ ports }) => ports ?? []).some(({ port }) => port === 8150);
    });
  });

  test("gives the server settings that it knows and accepts", () => {
    const known = new Set(Object.keys(settings).map(environmentName));
    for (const values of [{}, onPostgres, everything, behindIngress]) {
      const environment = environmentOf(chartManifests({ values }));
      expect(environment.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
      const literal = environment.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
      expect(() =>
        loadConfig({}, Object.fromEntries(literal.filter(([name]) => !/_TLS_/.test(name ?? "")))),
      ).not.toThrow();
    }
  });

  test("has the gateway on a port of the Service, or behind an Ingress where TLS ends", () => {
    const valuesOf = (values: object) => {
      const literal = environmentOf(chartManifests({ values })).map(({ name, value }) => [name, value]);
      return Object.fromEntries(literal);
    };
    const portsOf = (values: object) => {
      const { spec } = chartManifests({ values }).find(({ kind }) => kind === "Service") as unknown as Service;
      return spec.ports.map(({ name, port }) => `${name} ${port}`);
    };
    expect(valuesOf(everything)).toMatchObject({
      MILLRACE_GATEWAY_DOMAIN: "ch.example.com",
      MILLRACE_GATEWAY_PUBLIC_URL: "https://ch.example.com",
      MILLRACE_GATEWAY_TLS_CERT: "/etc/millrace/gateway-tls/tls.crt",
    });
    expect(portsOf(everything)).toContain("gateway 9443");
    const ended = valuesOf(behindIngress);
    expect(ended).toMatchObject({
      MILLRACE_GATEWAY_PUBLIC_URL: "https://ch.example.com",
      MILLRACE_SERVICE_PORTS: "none",
    });
    expect(ended).not.toHaveProperty("MILLRACE_GATEWAY_TLS_CERT");
    expect(portsOf(behindIngress)).toEqual(["api 8150", "gateway 8443"]);
    const bare = valuesOf({ gateway: { domain: "ch.example.com" } });
    expect(bare.MILLRACE_GATEWAY_PUBLIC_URL).toBe("http://ch.example.com:8443");
    expect(valuesOf({})).not.toHaveProperty("MILLRACE_GATEWAY_PORT");
  });

  test("contains no secret: they are named", () => {
    const given = environmentOf(chartManifests({ values: onPostgres })).filter(
      ({ valueFrom }) => valueFrom !== undefined,
    );
    expect(given.map(({ name }) => name)).toEqual(["MILLRACE_DATABASE", "MILLRACE_SECRET_KEY"]);
    expect(() => chartText({ values: { settings: { secretKey: "x" } } })).toThrow(/invalid propertyName 'secretKey'/);
  });

  test("keeps the metadata in a volume, or in Postgres, and needs the secret key there", () => {
    expect(workloadOf(chartManifests()).kind).toBe("StatefulSet");
    expect(workloadOf(chartManifests({ values: onPostgres })).kind).toBe("Deployment");
    const { database } = onPostgres.existingSecrets;
    expect(() => chartText({ values: { existingSecrets: { database } } })).toThrow(
      /requires existingSecrets.secretKey/,
    );
  });

  test("workers are pods of their own, which the Service sends nothing to", () => {
    const manifests = chartManifests({ values: severalServers });
    const [servers, workers] = manifests.filter(({ kind }) => kind === "Deployment") as Workload[];
    expect([servers?.spec, workers?.spec]).toMatchObject([{ replicas: 2 }, { replicas: 3 }]);
    expect(workers?.spec.template.spec.containers[0]).toMatchObject({ args: ["worker", "--slots=50"] });
    expect(workers?.spec.template.spec).toMatchObject({ automountServiceAccountToken: false });
    const service = manifests.find(({ kind }) => kind === "Service") as unknown as { spec: { selector: object } };
    expect(workers?.spec.template).not.toMatchObject({ metadata: { labels: service.spec.selector } });
    expect(servers?.spec.template).toMatchObject({ metadata: { labels: service.spec.selector } });
    expect(() => chartText({ values: { workers: { replicas: 1 } } })).toThrow(
      /workers.replicas and .* require existing/,
    );
  });

  test("a class of pipes has a Deployment of its own, whose number may be left to an autoscaler", () => {
    const pools = [
      { name: "kafka", replicas: 2, slots: 5, pipeKinds: ["messageBroker", "managedStream"], pipeSizes: "shared" },
      { name: "elastic", resources: { requests: { cpu: "2" } } },
    ];
    const manifests = chartManifests({ values: { ...severalServers, workers: { replicas: 1, pools } } });
    const deployments = manifests.filter(({ kind }) => kind === "Deployment") as Workload[];
    const [, all, kafka, elastic] = deployments;
    const flags = ["--slots=5", "--pipe-kinds=messageBroker,managedStream", "--pipe-sizes=shared"];
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual([
      "millrace",
      "millrace-worker",
      "millrace-worker-kafka",
      "millrace-worker-elastic",
    ]);
    expect(all?.spec.template.spec.containers[0]).toMatchObject({ args: ["worker", "--slots=200"] });
    expect(kafka?.spec.template.spec.containers[0]).toMatchObject({
      args: ["worker", ...flags],
      resources: { requests: { memory: "1Gi" } },
    });
    const given = Object.fromEntries(flags.map((flag) => flag.replace(/^--/, "").split("=")));
    const { slots, "pipe-kinds": pipeKinds, "pipe-sizes": pipeSizes } = given;
    expect(loadConfig({ slots, pipeKinds, pipeSizes }, {})).toMatchObject({ slots: 5, pipeSizes: "shared" });
    expect(elastic?.spec).not.toHaveProperty("replicas");
    // No Deployment finds the pods of another one.
    const selectors = deployments.map(({ spec }) => JSON.stringify((spec as unknown as { selector: object }).selector));
    expect(new Set(selectors).size).toBe(4);
    const wrong = { name: "x", pipeKinds: ["kafka"] };
    expect(() => chartText({ values: { workers: { pools: [wrong] } } })).toThrow(/pipeKinds/);
    expect(() => chartText({ values: { workers: { pools: [{ name: "x" }] } } })).toThrow(/workers.pools require/);
  });

  test("the example for KEDA scales a Deployment that the chart makes, and reads a Secret that it names", () => {
    const text = readFileSync(join(root, "deploy/kubernetes/keda-workers.yaml"), "utf8");
    const [authentication, scaled] = parseAllDocuments(text).map((document) => document.toJS());
    const manifests = chartManifests({ values: { ...onPostgres, workers: { pools: [{ name: "elastic" }] } } });
    const { scaleTargetRef, triggers } = scaled.spec;
    expect(manifests).toContainEqual(
      expect.objectContaining({ kind: "Deployment", metadata: expect.objectContaining(scaleTargetRef) }),
    );
    expect(triggers[0].authenticationRef.name).toBe(authentication.metadata.name);
  });

  test("refuses values that it does not know or that are wrong, by their names", () => {
    expect(() => chartText({ values: { clickhouse: { volumes: "maybe" } } })).toThrow(/clickhouse\/volumes/);
    expect(() => chartText({ values: { replicas: 2 } })).toThrow(/replicas above 1 require existingSecrets.database/);
    expect(() => chartText({ values: { replica: 2 } })).toThrow(/replica/);
    expect(() => chartText({ values: { serviceMonitor: { enabled: true } } })).toThrow(/existingSecrets.metricsToken/);
  });

  test("makes a ServiceMonitor only when it is asked for", () => {
    const monitor = { serviceMonitor: { enabled: true }, existingSecrets: { metricsToken: secret("token") } };
    const kinds = (values: object) => chartManifests({ values }).map(({ kind }) => kind);
    expect(kinds(monitor)).toContain("ServiceMonitor");
    expect(kinds({})).not.toContain("ServiceMonitor");
    expect(kinds({})).not.toContain("NetworkPolicy");
  });

  test(`${plain} is the chart with its defaults (\`vitest -u\` writes it)`, async () => {
    await expect(chartText()).toMatchFileSnapshot(join(root, plain));
  });
});
