/** A machine that vanishes keeps the slot of its Postgres pipe: the pipe's next process takes it, and no other slot. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { externalServiceOn } from "../../../harness/clickhouse/external-service.ts";
import { TestServer } from "../../../harness/clickhouse/server.ts";
import { details } from "../../../harness/pipes.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { LeaseHistory } from "../../../harness/postgres/lease-history.ts";
import { cdcPipe, destinationSum, sourceSum } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import {
  type BenchService,
  type Served,
  serve,
  serveWorker,
  until,
  untilText,
  type WorkerServed,
} from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { nodeIdOf } from "../../../src/store/nodes/node-id.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

/** The process and those that it has started. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

describe.skipIf(missing !== undefined)("the slot of a Postgres pipe whose machine vanishes", () => {
  const peers = new AsyncDisposableStack();
  let postgres: TestPostgres;
  let clickhouse: TestServer;
  let history: LeaseHistory;
  let served: Served;
  let service: BenchService;
  let workers: [WorkerServed, WorkerServed];

  beforeAll(async () => {
    [postgres, clickhouse] = await Promise.all([TestPostgres.start({ version: 18 }), TestServer.start()]);
    peers.use(postgres);
    peers.use(clickhouse);
    const database = await databaseUrl(postgres, "slot takeover");
    history = await LeaseHistory.on(database);
    // By itself, the source would give the slot up after all other limits of this test.
    const env = { ...sharedEnvironment(database), MILLRACE_PIPE_SOURCE_SILENCE_SECONDS: "600" };
    served = await serve({ env: { ...env, MILLRACE_SLOTS: "0" } });
    workers = [await serveWorker({ env }), await serveWorker({ env })];
    service = await externalServiceOn(served, clickhouse, "app");
    await postgres.sql(`CREATE TABLE kept (id int PRIMARY KEY, note text);
      INSERT INTO kept SELECT i, 'note ' || i FROM generate_series(1, 100) i`);
  });
  afterAll(async () => {
    for (const worker of workers ?? []) await worker[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await peers.disposeAsync();
  });

  const holder = async () => (await history.present("pipe"))[0]?.holder;
  const ask = async (sql: string) => (await clickhouse.client.text(sql)).trimEnd();
  async function untilEqual(): Promise<void> {
    const wanted = await sourceSum(postgres, "kept", "id, note");
    const read = () => destinationSum(ask, "app.kept", "id, note").catch((error: Error) => error.message);
    await untilText("both sides are equal", wanted, read);
  }

  test("is taken within seconds of the takeover, and every row arrives", async () => {
    const id = await cdcPipe(served, service, postgres, ["kept"]);
    await until("Running", async () => (await details(served, service, id)).state === "Running");
    await untilEqual();
    const first = await holder();
    const gone = workers.find(({ dataDir }) => nodeIdOf(dataDir) === first) as WorkerServed;
    const suspended = treeOf(gone.process.pid ?? 0);
    expect(suspended.length).toBeGreaterThan(1);
    for (const pid of suspended) process.kill(pid, "SIGSTOP");
    try {
      await postgres.sql("INSERT INTO kept SELECT i, 'later ' || i FROM generate_series(101, 200) i");
      await until("another process has the pipe", async () => ![undefined, first].includes(await holder()));
      await untilEqual();
    } finally {
      for (const pid of suspended) process.kill(pid, "SIGCONT");
    }
    await postgres.sql("UPDATE kept SET note = 'changed' WHERE id % 10 = 0");
    await untilEqual();
    expect(await history.sharedFences()).toEqual([]);
    await served.api.deletePipe({ params: { ...service.params, pipeId: id } });
    await until("deleted", async () => (await history.present("pipe")).length === 0);
  });

  test("that is given in the settings and read by somebody else stays theirs", async () => {
    await postgres.sql("CREATE TABLE shared (id int PRIMARY KEY); CREATE PUBLICATION given FOR TABLE shared");
    await postgres.sql("SELECT pg_create_logical_replication_slot('given', 'pgoutput')");
    const settings = { replicationMode: "cdc_only", replicationSlotName: "given", publicationName: "given" };
    const id = await cdcPipe(served, service, postgres, ["shared"], { settings });
    const untilState = (wanted: string) =>
      until(wanted, async () => (await details(served, service, id)).state === wanted);
    await untilState("Running");
    const change = (command: "start" | "stop") =>
      served.api.updatePipeState({ params: { ...service.params, pipeId: id }, body: { command } });
    await change("stop");
    await untilState("Stopped");
    await using reader = await postgres.client({ application_name: "theirs", replication: "database" } as object);
    const options = "(proto_version '1', publication_names 'given')";
    const over = reader.query(`START_REPLICATION SLOT given LOGICAL 0/0 ${options}`).catch((error: Error) => error);
    const pid = async () =>
      (await postgres.sql("SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'given'"))[0]?.active_pid;
    const present = await until("it is read", pid);
    await change("start");
    const named = /slot "given" is read by another connection \(process \d+ .*application_name "theirs"/;
    await until("named", async () => named.test((await details(served, service, id)).lastError ?? ""));
    expect(await pid()).toBe(present);
    await postgres.sql(`SELECT pg_terminate_backend(${present})`);
    await over;
    await untilState("Running");
  });
});
