/** The slot of a pipe in the API: refused at creation, monitored, lost and recreated. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPipe, details, untilState } from "../../../harness/pipes.ts";
import { compareTable } from "../../../harness/postgres/compare.ts";
import { cdcBody, cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("the slot of a Postgres pipe", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    const settings = { max_slot_wal_keep_size: "32MB", max_wal_size: "32MB", min_wal_size: "32MB" };
    [served, source] = await Promise.all([serve(), TestPostgres.start({ settings })]);
    service = await runningService(served);
    await source.sql(`CREATE TABLE kept (id int PRIMARY KEY, note text);
      INSERT INTO kept SELECT i, 'note ' || i FROM generate_series(1, 500) i;
      CREATE TABLE keyless (id int)`);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const equal = async () =>
    await compareTable(source, service, "kept", "kept_current").then(
      () => true,
      () => false,
    );

  test("create answers with every problem, and makes nothing anywhere", async () => {
    const body = cdcBody(source, ["kept", "keyless", "absent"], { settings: { publicationName: "none" } });
    const error = await createPipe(served, service, body).then(
      () => undefined,
      (reason: { status: number; issues: { path: string }[] }) => reason,
    );
    expect(error?.status).toBe(400);
    expect(error?.issues.map(({ path }) => path.replace("source.relationalDb.", ""))).toEqual([
      "tableMappings.1.sourceTable",
      "tableMappings.2.sourceTable",
      "settings.publicationName",
    ]);
    expect(await served.api.listPipes({ params: service.params })).toEqual([]);
    expect(await source.sql("SELECT slot_name FROM pg_replication_slots")).toEqual([]);
  });

  test("a table that has been dropped is named, with what to do, when the publication is made anew", async () => {
    await source.sql("CREATE TABLE dropped (id int PRIMARY KEY)");
    const id = await cdcPipe(served, service, source, ["kept", "dropped"]);
    const params = { ...service.params, pipeId: id };
    await until("copied", equal);
    await untilState(served, service, id, "Running");
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await source.sql("DROP TABLE dropped");
    await served.api.updatePipeState({ params, body: { command: "resync" } });
    await untilState(served, service, id, "Failed");
    expect((await details(served, service, id)).lastError).toBe(
      "The table public.dropped does not exist at the source: create it, or remove it from tableMappings.",
    );
    await served.api.deletePipe({ params });
    await query(service, "DROP TABLE kept SYNC");
    await query(service, "DROP TABLE dropped SYNC");
  });

  test("its log is watched, its loss is told, and a resync makes it anew", async () => {
    const id = await cdcPipe(served, service, source, ["kept"]);
    const pipe = () => details(served, service, id);
    await until("copied", equal);
    await until("the gauges are there", async () => (await pipe()).progress.slotSafeBytes !== undefined);
    const { progress } = await pipe();
    for (const name of ["lagBytes", "slotRetainedBytes", "slotBurnBytesPerSecond", "slotEtaSeconds"]) {
      expect(progress[name], name).toBeGreaterThanOrEqual(0);
    }
    const params = { ...service.params, pipeId: id };
    await served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    await source.sql("CREATE TABLE filler (text text); DELETE FROM kept WHERE id % 3 = 0");
    const status = async () => (await source.sql("SELECT wal_status FROM pg_replication_slots"))[0]?.wal_status;
    await until("the source gives up the slot", async () => {
      await source.sql("INSERT INTO filler SELECT repeat(md5(i::text), 30) FROM generate_series(1, 10000) AS i");
      await source.sql("SELECT pg_switch_wal()");
      await source.sql("CHECKPOINT");
      return (await status()) === "lost";
    });
    await served.api.updatePipeState({ params, body: { command: "start" } });
    await untilState(served, service, id, "Failed");
    const { lastError, needsResync } = await pipe();
    expect(lastError).toMatch(/slot "millrace_.*" lost log that it still needed/);
    expect(needsResync).toEqual({});
    await served.api.updatePipeState({ params, body: { command: "resync" } });
    await until("copied again", equal);
    await source.sql("INSERT INTO kept VALUES (1000, 'after')");
    await until("followed again", equal);
    expect(await status()).toBe("reserved");
    await served.api.deletePipe({ params });
    await until("slot and publication are gone", async () => {
      const [left] = await source.sql(
        "SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication) AS left",
      );
      return Number(left?.left) === 0;
    });
  });
});
