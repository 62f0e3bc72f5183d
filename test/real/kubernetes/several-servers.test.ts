/**
 * Servers that share their metadata and a cluster: one writes the installation, all use its hosts. Workers run its
 * pipes without access to the cluster.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubernetesMissing } from "../../../harness/kubernetes/binaries.ts";
import { TestCluster, testNamespace } from "../../../harness/kubernetes/cluster.ts";
import { FakeOperator } from "../../../harness/kubernetes/operator.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows } from "../../../harness/pipes.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { LeaseHistory } from "../../../harness/postgres/lease-history.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import {
  type BenchService,
  query,
  runningService,
  type Served,
  serve,
  serveWorker,
  until,
  untilText,
  type WorkerServed,
} from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { installationName } from "../../../src/services/kubernetes/installation.ts";
import type { Installation } from "../../../src/services/kubernetes/objects.ts";
import { nodeIdOf } from "../../../src/store/nodes/node-id.ts";

const missing = kubernetesMissing() ?? postgresMissing(18);

describe.skipIf(missing !== undefined)("servers that share a cluster", () => {
  const peers = new AsyncDisposableStack();
  let cluster: TestCluster;
  let one: Served;
  let other: Served;
  let service: BenchService;
  let store: TestStore;
  let history: LeaseHistory;
  let database: string;
  const workers: WorkerServed[] = [];

  beforeAll(async () => {
    const [postgres, started, objects] = await Promise.all([
      TestPostgres.start({ version: 18 }),
      TestCluster.start(),
      startFauxqs(),
    ]);
    [cluster, store] = [peers.use(started), peers.use(objects)];
    peers.use(new FakeOperator(cluster));
    database = await databaseUrl(peers.use(postgres), "shared");
    history = await LeaseHistory.on(database);
    const shared = sharedEnvironment(database);
    const env = {
      ...{ ...shared, MILLRACE_SLOTS: "0", MILLRACE_IDLE_MINUTE_MS: "500" },
      MILLRACE_KUBERNETES_NAMESPACE: testNamespace,
      MILLRACE_KUBERNETES_CONFIG: cluster.configFile("admin"),
    };
    one = await serve({ env });
    other = await serve({ env });
    workers.push(await serveWorker({ env: shared }), await serveWorker({ env: shared }));
    workers.push(await serveWorker({ env: { ...shared, MILLRACE_PIPE_KINDS: "messageBroker" } }));
    service = await runningService(one, { runtime: "kubernetes" });
    await query(service, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
  });
  afterAll(async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
    await one?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const installation = async () => {
    const kind = `/apis/clickhouse.altinity.com/v1/namespaces/${testNamespace}/clickhouseinstallations`;
    return (await cluster.must("GET", `${kind}/${installationName(service.id)}`)) as unknown as Installation;
  };
  /** What the example for KEDA counts. */
  const pipesToScaleBy = async () => {
    const file = join(import.meta.dirname, "../../../deploy/kubernetes/keda-workers.yaml");
    const [, scaled] = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    try {
      return (await client.query(scaled.spec.triggers[0].metadata.query)).rows[0].count;
    } finally {
      await client.end();
    }
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

  test("a pipe runs in workers that know nothing of the cluster, and one wakes the service for it", async () => {
    const { params } = service;
    let files = 0;
    const load = async (count: number) => {
      for (const end = files + count; files < end; files += 1) {
        await store.put(`in/${String(files).padStart(3, "0")}.json`, rows(files * 100, (files + 1) * 100));
      }
    };
    const read = () =>
      query(service, "SELECT count(), uniqExact(id) FROM orders").catch((error: Error) => error.message);
    const untilAll = () => untilText("all rows, once", `${files * 100}\t${files * 100}`, read);
    const state = async () => (await other.api.getService({ params })).state;
    await load(40);
    const settings = { object_storage_max_file_count: 1, object_storage_polling_interval_ms: 100 };
    const source = { isContinuous: true };
    await createPipe(one, service, pipeBody(store, "in/*.json", "orders", { source, body: { settings } }));
    await until("a part is loaded", async () => /^[1-9]\d*\t/.test(await read()));
    const [lease] = await history.present("pipe");
    // The third one takes other kinds.
    const nodes = workers.slice(0, 2).map(({ dataDir }) => nodeIdOf(dataDir));
    expect(nodes).toContain(lease?.holder);
    workers[nodes.indexOf(lease?.holder ?? "")]?.process.kill("SIGKILL");
    await load(10);
    await untilAll();
    expect(await history.sharedFences()).toEqual([]);
    expect(nodes.filter((id) => id !== lease?.holder)).toEqual(
      (await history.present("pipe")).map(({ holder }) => holder),
    );
    expect(await pipesToScaleBy()).toBe("1");
    await one.api.updateServiceScaling({ params, body: { idleScaling: true, idleTimeoutMinutes: 5 } });
    await until("it is idle", async () => (await state()) === "idle");
    await load(1);
    await until("the worker has woken it", async () => (await state()) === "running");
    await one.api.updateServiceScaling({ params, body: { idleScaling: false } });
    await untilAll();
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
