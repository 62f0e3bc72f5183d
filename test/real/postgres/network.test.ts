/** The network between a pipe and its source is cut, with a reset or silently. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../../../harness/network/relay.ts";
import { details, untilDegraded } from "../../../harness/pipes.ts";
import { untilTableEqual } from "../../../harness/postgres/compare.ts";
import { addressOf } from "../../../harness/postgres/failover.ts";
import { cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

const idleTimeoutSeconds = 3;

describe.skipIf(missing !== undefined)("the network to the source of a Postgres pipe", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    const env = { MILLRACE_PIPE_SOURCE_SILENCE_SECONDS: String(idleTimeoutSeconds) };
    [served, source] = await Promise.all([
      serve({ env }),
      TestPostgres.start({ settings: { wal_sender_timeout: "0" } }),
    ]);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const untilEqual = async (table: string) => await untilTableEqual(source, service, table);

  const untilCut = async (id: string, why: RegExp) => await untilDegraded(served, service, id, why);

  test("a stream that is cut goes on by itself, with and without a reset", async () => {
    using relay = await Relay.start(source.port);
    await source.sql("CREATE TABLE cut (id int PRIMARY KEY, note text); INSERT INTO cut VALUES (0, 'first')");
    const id = await cdcPipe(served, service, addressOf(source, relay), ["cut"]);
    await untilEqual("cut");
    let last = 0;
    const write = async (count: number) => {
      await source.sql(`INSERT INTO cut SELECT i, 'note ' || i FROM generate_series(${last + 1}, ${last + count}) i`);
      await source.sql(`UPDATE cut SET note = note || '+' WHERE id % 7 = ${count % 7}`);
      last += count;
    };
    await write(1000);
    relay.reset();
    await write(1001);
    await untilEqual("cut");
    await until("a connection stands", async () => relay.connections > 0);
    relay.swallow();
    await write(1002);
    await untilCut(id, /source.*(nothing has come|no answer)/);
    expect(await query(service, "SELECT count() FROM cut_current")).toBe("2002");
    await write(1003);
    relay.heal();
    await untilEqual("cut");
    await until("the pipe runs", async () => (await details(served, service, id)).state === "Running");
  });

  test("a copy that is cut goes on by itself, with and without a reset", async () => {
    using relay = await Relay.start(source.port);
    await source.sql(`CREATE TABLE big (id int PRIMARY KEY, note text);
      INSERT INTO big SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, 100000) i`);
    const settings = { snapshotNumRowsPerPartition: 2_000, initialLoadParallelism: 2 };
    relay.bytesPerSecond = 1_500_000;
    const id = await cdcPipe(served, service, addressOf(source, relay), ["big"], { settings });
    await until("the copy is under way", async () => relay.passed > 2_000_000);
    relay.reset();
    const before = relay.passed;
    await until("the copy goes on", async () => relay.passed > before + 2_000_000);
    relay.swallow();
    await untilCut(id, /source.*(nothing has come|no answer)/);
    const { snapshotPartsDone, snapshotParts } = (await details(served, service, id)).progress;
    expect(Number(snapshotPartsDone ?? 0)).toBeLessThan(Number(snapshotParts));
    await source.sql("UPDATE big SET note = 'changed' WHERE id % 1000 = 0; DELETE FROM big WHERE id % 1001 = 0");
    relay.heal();
    relay.bytesPerSecond = Number.POSITIVE_INFINITY;
    await untilEqual("big");
  });
});
