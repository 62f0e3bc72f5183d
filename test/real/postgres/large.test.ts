/**
 * One transaction larger than the memory of the worker: split into parts, acknowledged as a whole, exact despite kills.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { details } from "../../../harness/pipes.ts";
import { cdcPipe, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

const rows = 60_000;
const rowBytes = 5_120;
/** An idle worker has about 130; the rest is a batch being gathered, one being inserted, and a margin. */
const mostMegabytes = 520;

describe.skipIf(missing !== undefined)("a transaction of 310 MB", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    source = await TestPostgres.start({ onDisk: true });
    served = await serve();
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const pidOf = (file: string) =>
    (JSON.parse(readFileSync(`${served.dataDir}/${file}`, "utf8")) as { pid: number }).pid;

  test("is exact after kills in its middle, in bounded memory", async () => {
    await source.sql(`CREATE TABLE large (id int PRIMARY KEY, n int, text text);
      CREATE TABLE each (id int PRIMARY KEY, n int); INSERT INTO large VALUES (-1, 0, 'before')`);
    const mappings = ["large", "each"].map((table) => ({
      sourceSchemaName: "public",
      sourceTable: table,
      targetTable: table,
      ...(table === "each" ? { tableEngine: "MergeTree" } : {}),
    }));
    const id = await cdcPipe(served, service, source, [], { mappings });
    const columns = { source: "id, n, md5(text)", destination: "id, n, lower(hex(MD5(text)))" };
    await untilEqual(source, service, "large", columns);
    const confirmed = async () =>
      String((await source.sql("SELECT confirmed_flush_lsn::text AS at FROM pg_replication_slots"))[0]?.at);
    // A subtransaction for each thousand rows, and one in between that is rolled back.
    await source.sql(`DO $$ BEGIN FOR part IN 0..${rows / 1000 - 1} LOOP
        BEGIN
          INSERT INTO large SELECT i, part, repeat(md5(i::text), ${rowBytes / 32})
            FROM generate_series(part * 1000, part * 1000 + 999) i;
          INSERT INTO each SELECT i, part FROM generate_series(part * 1000, part * 1000 + 999) i;
          BEGIN
            DELETE FROM large WHERE id >= 0;
            RAISE EXCEPTION 'back';
          EXCEPTION WHEN raise_exception THEN NULL;
          END;
        END;
      END LOOP;
      UPDATE large SET n = -1 WHERE id % 100 = 0; END $$`);
    const [committed] = await source.sql("SELECT pg_current_wal_lsn()::text AS at");
    let most = 0;
    const measure = setInterval(() => {
      try {
        const status = readFileSync(`/proc/${pidOf(`pipes/${id}.pid`)}/status`, "utf8");
        most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      } catch {
        // The process is not running.
      }
    }, 50);
    try {
      const loaded = async () => Number(await query(service, "SELECT count() FROM large").catch(() => 0));
      for (const [victim, share] of [
        [`pipes/${id}.pid`, 0.2],
        [`services/${service.id}/engine.pid`, 0.5],
        [`pipes/${id}.pid`, 0.7],
      ] as const) {
        await until(`${share} are there`, async () => (await loaded()) > rows * share).catch(async (error: Error) => {
          const { state, lastError, progress } = await details(served, service, id);
          throw new Error(`${error.message}: ${state} ${lastError ?? ""} ${JSON.stringify(progress)}`);
        });
        process.kill(pidOf(victim), "SIGKILL");
        const [row] = await source.sql(`SELECT '${await confirmed()}'::pg_lsn < '${committed?.at}'::pg_lsn AS held`);
        expect(row?.held, "nothing of the transaction is confirmed").toBe(true);
      }
      const complete = async () =>
        (await query(service, "SELECT countIf(n = -1) FROM large_current")) === `${rows / 100}`;
      await until("its last change is there", complete);
      await untilEqual(source, service, "large", columns);
      await until("it is confirmed", async () => {
        const [row] = await source.sql(`SELECT '${await confirmed()}'::pg_lsn >= '${committed?.at}'::pg_lsn AS done`);
        return row?.done === true;
      });
    } finally {
      clearInterval(measure);
    }
    expect(await query(service, "SELECT count(), uniqExact(id), sum(n) FROM each")).toBe(
      `${rows}\t${rows}\t${((rows / 1000 - 1) * rows) / 2}`,
    );
    console.log(`the worker had ${Math.round(most)} MB at most`);
    expect(most).toBeGreaterThan(50);
    expect(most).toBeLessThan(mostMegabytes);
  });
});
