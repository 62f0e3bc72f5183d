/** The log that a slot holds back: measured, warned about while there is time, and called lost when it is. */
import { describe, expect, test } from "vitest";
import { postgresMissing, postgresVersions, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { maxEtaSeconds, type SlotHealth, SlotHealthProbe } from "./slot-health.ts";

const usable = postgresVersions.filter((version) => {
  const missing = postgresMissing(version);
  if (missing !== undefined) console.log(`skipped: ${missing}`);
  return missing === undefined;
});

/** About this many megabytes of log. */
const writeLog = (megabytes: number) =>
  `INSERT INTO filler SELECT repeat(md5(i::text), 30) FROM generate_series(1, ${megabytes * 1000}) AS i`;

describe.each(usable)("the log budget of a slot on Postgres %i", (version) => {
  test("grows with the log, warns with an ETA, and ends as lost", async () => {
    const settings = { max_slot_wal_keep_size: "48MB", max_wal_size: "32MB", min_wal_size: "32MB" };
    await using server = await TestPostgres.start({ version, settings });
    await server.sql("CREATE TABLE filler (text text)");
    await server.sql("SELECT pg_create_logical_replication_slot('slow', 'pgoutput')");
    await using client = await server.client();
    const watch = new SlotHealthProbe("slow");
    const first = await watch.poll(client, 0);
    expect(first.lost).toBeUndefined();
    expect(first.gauges.slotSafeBytes).toBeGreaterThan(40_000_000);
    expect(first.gauges).toMatchObject({ slotBurnBytesPerSecond: 0, slotEtaSeconds: maxEtaSeconds });
    await client.query(writeLog(8));
    const second = await watch.poll(client, 10_000);
    const grown = (second.gauges.slotRetainedBytes ?? 0) - (first.gauges.slotRetainedBytes ?? 0);
    expect(grown).toBeGreaterThan(8_000_000);
    expect(second.gauges.slotBurnBytesPerSecond).toBe(Math.round(grown / 10));
    expect(second.gauges.lagBytes).toBeGreaterThan(8_000_000);
    const { slotSafeBytes: safe = 0, slotEtaSeconds: eta = 0 } = second.gauges;
    expect(eta).toBe(Math.floor(safe / Math.round(grown / 10)));
    expect(second.warning).toMatch(/gives up slot "slow" in about \d+ s; \d+ MB left at .*max_slot_wal_keep_size/);
    let last: SlotHealth = second;
    for (let round = 1; round <= 12 && last.lost === undefined; round += 1) {
      await client.query(writeLog(10));
      await client.query("SELECT pg_switch_wal()");
      await client.query("CHECKPOINT");
      last = await watch.poll(client, 10_000 + round * 10_000);
    }
    expect(last.lost).toMatch(/^slot "slow" lost log that it still needed: resync the pipe/);
    expect(last.gauges.slotEtaSeconds).toBe(0);
  });

  test.skipIf(version < 17)("a standby that is waited for and does not run is told", async () => {
    await using server = await TestPostgres.start({ version, settings: { synchronized_standby_slots: "gone, back" } });
    await server.sql("SELECT pg_create_logical_replication_slot('plain', 'pgoutput')");
    await server.sql("SELECT pg_create_logical_replication_slot('kept', 'pgoutput', false, false, true)");
    await using client = await server.client();
    expect((await new SlotHealthProbe("plain").poll(client, 0)).warning).toBeUndefined();
    expect((await new SlotHealthProbe("kept").poll(client, 0)).warning).toMatch(
      /until the standby of slot gone, back has them/,
    );
  });

  test("without a limit there is a rate but no end; a slot that keeps up does not burn; a dropped one is lost", async () => {
    await using server = await TestPostgres.start({ version });
    await server.sql("CREATE TABLE filler (text text)");
    await server.sql("SELECT pg_create_logical_replication_slot('fine', 'pgoutput')");
    await using client = await server.client();
    const watch = new SlotHealthProbe("fine");
    await watch.poll(client, 0);
    await client.query(writeLog(5));
    const grown = await watch.poll(client, 1_000);
    expect(grown.warning).toBeUndefined();
    expect(grown.gauges.slotBurnBytesPerSecond).toBeGreaterThan(5_000_000);
    expect(grown.gauges).not.toHaveProperty("slotEtaSeconds");
    await client.query("SELECT pg_replication_slot_advance('fine', pg_current_wal_lsn())");
    const advanced = await watch.poll(client, 2_000);
    expect(advanced.gauges.lagBytes).toBeLessThan(1_000_000);
    await client.query("SELECT pg_drop_replication_slot('fine')");
    expect((await watch.poll(client, 3_000)).lost).toMatch(/slot "fine" does not exist any more/);
  });
});
