/** Servers that share their metadata: pipes and services move from one to the other, and every row arrives once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { externalServiceOn } from "../../../harness/clickhouse/external-service.ts";
import { TestServer } from "../../../harness/clickhouse/server.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows } from "../../../harness/pipes.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { LeaseHistory } from "../../../harness/postgres/lease-history.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import {
  type BenchService,
  query,
  runningService,
  type Served,
  serve,
  until,
  untilText,
} from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { nodeIdOf } from "../../../src/store/nodes/node-id.ts";

const missing = postgresMissing(18);

describe.skipIf(missing !== undefined)(`servers that share their metadata${missing ? `: ${missing}` : ""}`, () => {
  const peers = new AsyncDisposableStack();
  let store: TestStore;
  let clickhouse: TestServer;
  let history: LeaseHistory;
  let env: Record<string, string>;
  let one: Served;
  let other: Served;
  let service: BenchService;
  const pipeIds: string[] = [];
  let files = 0;

  beforeAll(async () => {
    const [postgres, objects, server] = await Promise.all([
      TestPostgres.start({ version: 18 }),
      startFauxqs(),
      TestServer.start(),
    ]);
    [store, clickhouse] = [peers.use(objects), peers.use(server)];
    const database = await databaseUrl(peers.use(postgres), "shared");
    history = await LeaseHistory.on(database);
    env = sharedEnvironment(database);
    one = await serve({ env });
    other = await serve({ env });
    service = await externalServiceOn(one, clickhouse, "app");
    for (const table of ["a", "b"]) {
      const body = { settings: { object_storage_polling_interval_ms: 100 } };
      const source = { isContinuous: true };
      pipeIds.push(await createPipe(one, service, pipeBody(store, `${table}/*.json`, table, { source, body })));
    }
  });
  afterAll(async () => {
    await one?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const nodeOf = ({ dataDir }: Served) => nodeIdOf(dataDir);
  const holders = async () => (await history.present("pipe")).map(({ holder }) => holder);
  const bothSides = () => [nodeOf(one), nodeOf(other)].sort();
  /** 100 new rows for each pipe. */
  async function load(): Promise<void> {
    for (const table of ["a", "b"]) await store.put(`${table}/${files}.json`, rows(files * 100, (files + 1) * 100));
    files += 1;
  }
  /** Every row of each pipe, once. */
  async function untilAll(): Promise<void> {
    const expected = `${files * 100}\t${files * 100}`;
    for (const table of ["a", "b"]) {
      const sql = `SELECT count(), uniqExact(id) FROM app.${table} FORMAT TSV`;
      const read = async () => (await clickhouse.client.text(sql).catch((error: Error) => error.message)).trim();
      await untilText(`all rows in ${table}`, expected, read);
    }
  }

  test("each of them answers for all services, and runs its share of the pipes", async () => {
    await load();
    await untilAll();
    await until("each server has a pipe", async () => `${(await holders()).sort()}` === `${bothSides()}`);
    const { organizationId } = one.credentials;
    expect(other.credentials.organizationId).toBe(organizationId);
    expect(other.credentials.keyId).not.toBe(one.credentials.keyId);
    for (const served of [one, other]) {
      expect(await served.api.getService({ params: service.params })).toMatchObject({ state: "running" });
      for (const pipeId of pipeIds) {
        await until("Running", async () => (await details(served, service, pipeId)).state === "Running");
      }
      const { params } = service;
      const asked = await served.api.runQuery({ params, body: { query: "SELECT count() FROM app.a", format: "TSV" } });
      expect((await asked.text()).trim()).toBe("100");
    }
    await load();
    await untilAll();
  });

  test("an engine belongs to its server: others show and stop it, and name that server for the rest", async () => {
    const own = await runningService(one, { idleScaling: false });
    await query(own, "CREATE TABLE t (a UInt8) ENGINE = Memory");
    const { params } = own;
    const [seen, shown] = [await other.api.getService({ params }), await one.api.getService({ params })];
    expect([seen.state, seen.endpoints]).toEqual(["running", shown.endpoints]);
    const asked = other.api.runQuery({ params, body: { query: "SELECT 1" } });
    await expect(asked).rejects.toThrow(`belongs to the server ${one.credentials.baseUrl}: send the request there`);
    await other.api.updateServiceState({ params, body: { command: "stop" } });
    await until("stopped", async () => (await one.api.getService({ params })).state === "stopped");
    await other.api.deleteService({ params });
    await until("gone", async () => (await one.api.listServices({ params })).every(({ id }) => id !== own.id));
  });

  test("the pipes of a server that is killed continue on the other one, and come back to the next", async () => {
    const killed = nodeOf(one);
    const before = await history.holders("pipe");
    const restarted = one.restartAfterKill();
    await load();
    one = await restarted;
    await until("each has a pipe again", async () => `${(await holders()).sort()}` === `${bothSides()}`);
    await untilAll();
    expect(nodeOf(one)).toBe(killed);
    expect((await history.holders("pipe")).length).toBeGreaterThan(before.length);
    one.process.kill("SIGKILL");
    await load();
    await until("the other one has both", async () => (await holders()).every((holder) => holder === nodeOf(other)));
    await load();
    await untilAll();
    expect(await history.sharedFences()).toEqual([]);
  });

  test("a server that is suspended beyond its leases changes nothing when it goes on", async () => {
    one = await one.restartAfterKill();
    await until("each has a pipe", async () => `${(await holders()).sort()}` === `${bothSides()}`);
    one.process.kill("SIGSTOP");
    await load();
    await until("the other one has both", async () => (await holders()).every((holder) => holder === nodeOf(other)));
    await load();
    await untilAll();
    one.process.kill("SIGCONT");
    await load();
    await until("each has a pipe again", async () => `${(await holders()).sort()}` === `${bothSides()}`);
    await load();
    await untilAll();
    expect(await history.sharedFences()).toEqual([]);
  });

  test("a server that is stopped leaves its pipes at once", async () => {
    await one.stop();
    expect((await history.present("pipe")).every(({ holder }) => holder === nodeOf(other))).toBe(true);
    await load();
    await untilAll();
    expect((await history.present("pipe")).map(({ holder }) => holder)).toEqual([nodeOf(other), nodeOf(other)]);
  });
});
