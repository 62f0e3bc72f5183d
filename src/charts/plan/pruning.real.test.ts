/** Whatever a table is sorted by, a request reads the granules of its range and not many more. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChartEngine, chartRoom, startEngine } from "../../../harness/engine/chart-engine.ts";
import { Dice } from "../../../harness/random.ts";
import { searchRequest } from "../../api/explore.ts";

const days = 10;
const rows = 2_000_000;
const t0 = Date.UTC(2026, 5, 1);
/** Two hours: a 120th of the table. */
const range = { startTime: t0 + 5 * 86_400_000, endTime: t0 + 5 * 86_400_000 + 7_200_000 };

const dice = new Dice(7);
const coarse = ["toStartOfHour", "toStartOfTenMinutes", "toStartOfFifteenMinutes", "toStartOfMinute", "timeSlot"];
/** Values of these are columns of few values, as names of services are. */
const names = ["ServiceName", "SpanName"];

function generated(): string {
  const first = `${dice.pick(coarse)}(Timestamp)`;
  const others = [
    dice.pick(names),
    dice.pick(["Timestamp", "toDateTime(Timestamp)", "toUnixTimestamp64Nano(Timestamp)"]),
  ];
  const partition = dice.pick(["", "PARTITION BY toDate(Timestamp) ", "PARTITION BY toYYYYMM(Timestamp) "]);
  return `${partition}ORDER BY (${[first, ...others].join(", ")})`;
}

const layouts = [
  // These are the collector's exporter's, and ClickStack's.
  "PARTITION BY toDate(TimestampTime) ORDER BY (ServiceName, TimestampTime, Timestamp)",
  "PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))",
  "PARTITION BY toDate(Timestamp) ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp)",
  "ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp)",
  "ORDER BY Timestamp",
  ...Array.from({ length: 10 }, generated),
];

let engine: ChartEngine;
beforeAll(async () => {
  engine = await startEngine();
  await engine.client.command("CREATE DATABASE p");
  for (const [i, layout] of layouts.entries()) {
    await engine.client.command(`CREATE TABLE p.t${i} (Timestamp DateTime64(9),
      TimestampTime DateTime DEFAULT toDateTime(Timestamp), ServiceName LowCardinality(String), SpanName String,
      Body String) ENGINE = MergeTree ${layout}`);
    await engine.client.command(`INSERT INTO p.t${i} (Timestamp, ServiceName, SpanName, Body)
      SELECT fromUnixTimestamp64Milli(${t0} + intDiv(number * ${days * 86_400_000}, ${rows}), 'UTC'),
        ['a', 'b', 'c'][1 + number % 3], ['x', 'y'][1 + number % 2], 'text' FROM numbers(${rows})`);
  }
});
afterAll(() => engine?.[Symbol.asyncDispose]());

/** A search reads the stretch of the page, and then its rows. */
const mostReads = 2;
/** Granules at both ends of the range, in up to six places of the order for each time. */
const shared = 2 * 6 * 8192;
const inRange = (rows * (range.endTime - range.startTime)) / (days * 86_400_000);

test.each(layouts.map((layout, i) => ({ layout, i })))("$layout", async ({ layout, i }) => {
  const time = layout.includes("TimestampTime") ? "TimestampTime, Timestamp" : "Timestamp";
  const from = { databaseName: "p", tableName: `t${i}` };
  const plain = { name: "s", kind: "table" as const, from, timestampValueExpression: time };
  const { room, guardQuery } = chartRoom(engine.client, { s: plain });
  const caller = { organizationId: "o", credentialId: "t", signal: new AbortController().signal };
  const requests: Record<string, () => Promise<number>> = {
    series: async () => {
      const series = [{ sourceId: "s", aggFn: "count" as const }];
      const { data } = await guardQuery({ ...range, granularity: "1h", series });
      return data.reduce((sum, row) => sum + Number(row["series_0.data"]), 0);
    },
    search: async () => {
      const request = searchRequest.parse({ sourceId: "s", ...range, limit: 10 });
      return (await room.search.rows(request, caller)).data.length;
    },
    "field values": async () => {
      const query = {
        wake: "auto",
        prefix: "",
        where: "",
        whereLanguage: "lucene",
        timezone: "UTC",
        limit: 20,
      } as const;
      const { data } = await room.fields.values("s", { ...query, ...range, field: "ServiceName" }, caller);
      return data.reduce((sum, { count }) => sum + count, 0);
    },
  };
  const found: Record<string, number> = { series: inRange + 1, search: 10, "field values": inRange + 1 };
  for (const [what, ask] of Object.entries(requests)) {
    const before = await rowsRead(i);
    expect(Math.abs((await ask()) - (found[what] ?? 0)), what).toBeLessThanOrEqual(1);
    const read = (await rowsRead(i)) - before;
    expect(read, what).toBeGreaterThan(0);
    expect(read, what).toBeLessThan(mostReads * inRange + shared);
  }
});

/** Rows that the queries on a table have read. */
async function rowsRead(i: number): Promise<number> {
  await engine.client.command("SYSTEM FLUSH LOGS query_log");
  const answer = await engine.client.text(`SELECT sum(read_rows) FROM system.query_log
    WHERE type = 'QueryFinish' AND has(tables, 'p.t${i}') AND query_kind = 'Select'`);
  return Number(answer);
}
