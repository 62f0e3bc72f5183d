/** From rows of a result to series of a chart. */
import { oneOf } from "../lib/search.ts";
import { cellText, type GridColumn, type GridRow, isNumeric, kindOf, timeOf } from "../lib/values.ts";
import { numberOf } from "./answer.ts";
import type { ChartData, ChartDisplay } from "./types.ts";

/** What a statement has brought so far. */
export type Result = {
  readonly columns: readonly GridColumn[];
  /** Grows in place; `rowCount` says how far it is. */
  readonly rows: readonly GridRow[];
  readonly rowCount: number;
};

/** How rows are drawn. Columns that a result has not are as if they were not chosen. */
export type ResultLook = {
  readonly display: ChartDisplay;
  /** Default: the first column of times. */
  readonly time: string;
  /** Default: all numbers. */
  readonly values: readonly string[];
  readonly group: string;
};

/** A look of anything that was kept. */
export function resultLook(kept: unknown): ResultLook {
  const raw = (typeof kept === "object" && kept !== null ? kept : {}) as Readonly<Record<string, unknown>>;
  const { display = "line" } = oneOf(raw, "display", ["line", "bar", "stacked"]);
  const textOf = (value: unknown) => (typeof value === "string" ? value : "");
  const values = Array.isArray(raw.values) ? raw.values.filter((value) => typeof value === "string") : [];
  return { display, time: textOf(raw.time), values, group: textOf(raw.group) };
}

/** Places of the columns that can be an axis, a value or a group, and of those that the look chooses. */
export function chartColumns(columns: readonly GridColumn[], { time, values, group }: ResultLook) {
  const places = (wanted: (column: GridColumn) => boolean) =>
    columns.flatMap((column, at) => (wanted(column) ? [at] : []));
  const isCalled = (name: string) => (at: number) => columns[at]?.name === name;
  const times = places(({ type }) => kindOf(type) === "time");
  const groups = places(({ type }) => kindOf(type) === "text" || kindOf(type) === "boolean");
  const allNumbers = places(({ type }) => isNumeric(kindOf(type)));
  const numbers = allNumbers.filter((at) => values.includes(columns[at]?.name as string));
  return {
    ...{ times, groups, allNumbers },
    time: times.find(isCalled(time)) ?? times[0],
    numbers: numbers.length > 0 ? numbers : allNumbers,
    group: groups.find(isCalled(group)),
  };
}

const maxSeries = 24;

/** One series per column of numbers, and per group; undefined without times or numbers. */
export function resultSeries(
  { columns, rows }: Result,
  { time, numbers, groups, ...chosen }: ReturnType<typeof chartColumns>,
): ChartData | undefined {
  if (time === undefined || numbers.length === 0) return undefined;
  const at = (row: GridRow) => timeOf(row[time], columns[time]?.type ?? "");
  const known = rows.filter((row) => !Number.isNaN(at(row)));
  const times = [...new Set(known.map(at))].sort((a, b) => a - b);
  // Only the last one of several rows of one time would be drawn.
  const group = chosen.group ?? (times.length < known.length ? groups[0] : undefined);
  const places = new Map(times.map((value, place) => [value, place]));
  const series = new Map<string, { values: (number | null)[]; measure: number }>();
  for (const row of known) {
    for (const column of numbers) {
      const name = columns[column]?.name ?? "";
      const owner = group === undefined ? "" : cellText(row[group]);
      const key = group === undefined ? name : numbers.length === 1 ? owner : `${owner} · ${name}`;
      let one = series.get(key);
      if (one === undefined) {
        if (series.size >= maxSeries) continue;
        one = { values: new Array<number | null>(times.length).fill(null), measure: column };
        series.set(key, one);
      }
      one.values[places.get(at(row)) as number] = numberOf(row[column]);
    }
  }
  return { times, series: [...series].map(([name, one]) => ({ name, ...one })) };
}
