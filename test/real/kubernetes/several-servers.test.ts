/** Two servers that share their metadata and a cluster: one writes the installation, both use its hosts. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { TestCluster, testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { FakeOperator } from "../../../harness/kubernetes/operator.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { installationName } from "../../../src/services/kubernetes/installation.ts";
import type { Installation } from "../../../src/services/kubernetes/objects.ts";

const missing = kubernetesMissing() ?? postgresMissing(18);

describe.skipIf(missing !== undefined)("servers that share a cluster", () => {
  const peers = new AsyncDisposableStack();
  let cluster: TestCluster;
  let one: Served;
  let other: Served;
  let service: BenchService;

  beforeAll(async () => {
    const [postgres, started] = await Promise.all([TestPostgres.start({ version: 18 }), TestCluster.start()]);
    cluster = peers.use(started);
    peers.use(new FakeOperator(cluster));
    const env = {
      ...sharedEnvironment(await databaseUrl(peers.use(postgres), "shared")),
      MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
      MILLRACE_KUBERNETES_CONFIG: cluster.configFile("admin"),
    };
    one = await serve({ env });
    other = await serve({ env });
    service = await runningService(one, { runtime: "kubernetes" });
    await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  });
  afterAll(async () => {
    await one?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const installation = async () => {
    const kind = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
    return (await cluster.must("GET", `${kind}/${installationName(service.id)}`)) as unknown as Installation;
  };
  /** Asked of its hosts, and not of the metadata. */
  const untilTableIsSeenBy = (served: Served) =>
    until("the table is seen", async () => {
      const listed = await served.api.listTables({ params: service.params, query: {} }).catch(() => undefined);
      return listed?.tables.some(({ name }) => name === "t");
    });

  test("both answer from its hosts, and the installation is written once", async () => {
    const { generation } = (await installation()).metadata;
    await untilTableIsSeenBy(one);
    await untilTableIsSeenBy(other);
    expect((await installation()).metadata.generation).toBe(generation);
  });

  test("the one that is left goes on without writing, and then stops the pods", async () => {
    const { generation } = (await installation()).metadata;
    one.process.kill("SIGKILL");
    await untilTableIsSeenBy(other);
    expect((await installation()).metadata.generation).toBe(generation);
    await other.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until(
      "it is stopped",
      async () => (await other.api.getService({ params: service.params })).state === "stopped",
    );
    expect((await installation()).spec.stop).toBe("yes");
  });
});
