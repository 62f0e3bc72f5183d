/** From rows of a result to series of a chart. */
import { oneOf } from "../lib/search.ts";
import { cellText, type GridColumn, type GridRow, kindOf, timeOf, type ValueKind } from "../lib/values.ts";
import { groupText, numberOf, seriesName, toldApart } from "./answer.ts";
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
  /** Default: what tells rows of one time apart. */
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

/** Rows whose time is known, with it in ms. */
function timedRows({ columns, rows }: Result, time: number | undefined): { row: GridRow; ms: number }[] {
  if (time === undefined) return [];
  const timed = rows.map((row) => ({ row, ms: timeOf(row[time], columns[time]?.type ?? "") }));
  return timed.filter(({ ms }) => !Number.isNaN(ms));
}

const maxSeries = 24;

/** Places of the columns that can be an axis, a value or a group, and of those that the look chooses. */
export function chartColumns(result: Result, look: ResultLook) {
  const { columns } = result;
  const places = (...kinds: ValueKind[]) =>
    columns.flatMap(({ type }, at) => (kinds.includes(kindOf(type)) ? [at] : []));
  const isCalled = (name: string) => (at: number) => columns[at]?.name === name;
  const times = places("time");
  const time = times.find(isCalled(look.time)) ?? times[0];
  const measures = places("integer", "decimal", "float");
  // The only number is what is drawn.
  const integers = measures.length > 1 ? places("integer") : [];
  const texts = places("text", "boolean");
  const groups = [...texts, ...integers];
  const isValue = (at: number) => look.values.includes(columns[at]?.name as string);
  const free = integers.filter((at) => !isValue(at));
  const group = groups.find(isCalled(look.group)) ?? automaticGroup(timedRows(result, time), texts, free);
  const allNumbers = measures.filter((at) => at !== group);
  const numbers = allNumbers.filter(isValue);
  return {
    times,
    groups,
    allNumbers,
    time,
    numbers: numbers.length > 0 ? numbers : allNumbers.slice(0, maxSeries),
    group,
  };
}

/** What tells rows of one time apart, as only the last is drawn: the first text, or the integer with least values. */
function automaticGroup(
  timed: ReturnType<typeof timedRows>,
  texts: readonly number[],
  integers: readonly number[],
): number | undefined {
  if (new Set(timed.map(({ ms }) => ms)).size === timed.length) return undefined;
  if (texts.length > 0) return texts[0];
  const counted = integers.map((at) => ({ at, count: new Set(timed.map(({ row }) => cellText(row[at]))).size }));
  return counted.filter(({ count }) => count <= maxSeries).sort((a, b) => a.count - b.count)[0]?.at;
}

/** How many groups are not drawn, and whether of rows of one time and group only the last one is. */
type Drawn = ChartData & { readonly leftGroups: number; readonly isRepeated: boolean };

/** One series per column of numbers, and per group; undefined without times or numbers. */
export function resultSeries(
  result: Result,
  { time, numbers, group }: ReturnType<typeof chartColumns>,
  { display }: Pick<ResultLook, "display">,
): Drawn | undefined {
  if (time === undefined || numbers.length === 0) return undefined;
  const timed = timedRows(result, time);
  const times = [...new Set(timed.map(({ ms }) => ms))].sort((a, b) => a - b);
  const places = new Map(times.map((value, place) => [value, place]));
  const owners = timed.map(({ row }) => JSON.stringify(group === undefined ? [] : [row[group]]));
  const groups = greatestFirst(timed.map(({ row }, at) => [owners[at] as string, numberOf(row[numbers[0] as number])]));
  const kept = new Set(groups.slice(0, Math.max(1, Math.floor(maxSeries / numbers.length))));
  const names = numbers.map((column) => result.columns[column]?.name ?? "");
  // Whoever stacks columns knows that they add up.
  const measureOf = (column: number) => (display === "stacked" ? 0 : column);
  const series = new Map<string, { name: string; values: (number | null)[]; measure: number }>();
  let isRepeated = false;
  for (const [at, { row, ms }] of timed.entries()) {
    const [owner, place] = [owners[at] as string, places.get(ms) as number];
    if (!kept.has(owner)) continue;
    for (const [index, column] of numbers.entries()) {
      const key = `${column} ${owner}`;
      const one = series.get(key) ?? {
        name: seriesName(names, index, group === undefined ? "" : groupText({ group: [row[group]] })),
        values: new Array<number | null>(times.length).fill(null),
        measure: measureOf(column),
      };
      series.set(key, one);
      if (one.values[place] !== null) isRepeated = true;
      one.values[place] = numberOf(row[column]);
    }
  }
  const leftGroups = groups.length - kept.size;
  return { times, series: toldApart([...series.values()]), leftGroups, isRepeated };
}

/** Groups in the order of their greatest values, as the server ranks those of its charts. */
function greatestFirst(values: readonly (readonly [group: string, value: number | null])[]): string[] {
  const peaks = new Map<string, number>();
  for (const [group, value] of values) {
    const least = peaks.get(group) ?? Number.NEGATIVE_INFINITY;
    peaks.set(group, Math.max(least, value ?? least));
  }
  const ranked = [...peaks].sort(([, a], [, b]) => (a === b ? 0 : b - a));
  return ranked.map(([group]) => group);
}
