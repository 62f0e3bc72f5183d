/** Requests random charts from a real engine and compares every value with the plain computation. */
import { type ChartEngine, chartRoom, type SourceInput } from "../engine/chart-engine.ts";
import { Dice } from "../random.ts";
import { type ModelTable, randomTable, tableStatements, timeLists } from "./model.ts";
import { type PlainChart, plainAnswer, randomChart } from "./plain.ts";

/**
 * Around these days clocks change somewhere, often in an unusual way: skipped days, changes at midnight, by 30 minutes.
 */
const centers = [
  ...["2024-03-31", "2024-10-27", "2011-12-30", "1995-01-01", "2010-03-14", "2005-11-06", "2018-11-04", "2026-10-25"],
  ...["2027-11-07", "1993-08-21", "2023-04-28", "2025-06-15", "1978-05-01", "2040-11-04"],
].map((day) => Date.parse(day));

export type Comparison = { readonly charts: number; readonly rows: number };

/**
 * Creates `tables` random tables and requests `chartsPerTable` random charts of each, with every kind of time list.
 * Throws at the first difference, with the request.
 */
export async function compareCharts(
  engine: ChartEngine,
  { seed, tables, chartsPerTable }: { seed: number; tables: number; chartsPerTable: number },
): Promise<Comparison> {
  const dice = new Dice(seed);
  const database = `model_${seed}`;
  await engine.client.command(`CREATE DATABASE ${database}`);
  const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  let [charts, rows] = [0, 0];
  for (let i = 0; i < tables; i += 1) {
    const center = dice.pick(centers);
    const table = randomTable(dice, `t${i}`, center, 400);
    const { create, insert, lines } = tableStatements(database, table);
    await engine.client.command(create);
    await engine.client.command(insert, { body: Buffer.from(lines) });
    const room = chartRoom(engine.client, sourcesOf(database, table));
    for (let asked = 0; asked < chartsPerTable; asked += 1) {
      const list = dice.pick(timeLists);
      const chart = randomChart(dice, list, center, zones);
      const { data } = await room.guardQuery(chart.request);
      difference(table, chart, data);
      charts += 1;
      rows += data.length;
    }
  }
  await engine.client.command(`DROP DATABASE ${database} SYNC`);
  return { charts, rows };
}

function sourcesOf(database: string, table: ModelTable): Record<string, SourceInput> {
  const from = { databaseName: database, tableName: table.name };
  return Object.fromEntries(
    timeLists.map((list) => [list, { name: list, kind: "table", from, timestampValueExpression: list }]),
  );
}

function difference(table: ModelTable, chart: PlainChart, data: readonly Record<string, unknown>[]): void {
  const wanted = plainAnswer(table, chart);
  const fail = (what: string) => {
    throw new Error(`${what}\n${table.type} ORDER BY ${table.sorted}\n${JSON.stringify(chart.request)}`);
  };
  const seen = new Set<string>();
  for (const row of data) {
    const [group = ""] = row.group as unknown[];
    const key = JSON.stringify([row.ts_bucket, String(group)]);
    const plain = wanted.get(key);
    if (plain === undefined) fail(`unexpected row ${JSON.stringify(row)} of ${[...wanted.keys()].join(" ")}`);
    if (seen.has(key)) fail(`two rows of ${key}`);
    seen.add(key);
    for (const [i, value] of (plain?.values ?? []).entries()) {
      const got = row[`series_${i}.data`];
      if (!isSame(got, value)) fail(`series ${i} of ${key} is ${got}, not ${value}`);
    }
  }
  for (const key of wanted.keys()) if (!seen.has(key)) fail(`no row for ${key}`);
}

/** Sums of doubles differ in their last digits with the order of the rows. */
function isSame(got: unknown, wanted: number | null): boolean {
  if (wanted === null || typeof got !== "number") return got === wanted;
  return Math.abs(got - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted));
}
