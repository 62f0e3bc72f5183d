/** From rows of a result to series of a chart. */
import { numberOf } from "../../charts/answer.ts";
import type { ChartData } from "../../charts/types.ts";
import { cellText, type GridColumn, type GridRow, isNumeric, kindOf, timeOf } from "../../lib/values.ts";

/** Which columns can be an axis, a value or a group. */
export function chartColumns(columns: readonly GridColumn[]) {
  const places = (wanted: (column: GridColumn) => boolean) =>
    columns.flatMap((column, at) => (wanted(column) ? [at] : []));
  return {
    times: places(({ type }) => kindOf(type) === "time"),
    numbers: places(({ type }) => isNumeric(kindOf(type))),
    groups: places(({ type }) => kindOf(type) === "text" || kindOf(type) === "boolean"),
  };
}

const maxSeries = 24;

/** One series per column of numbers, and per group. */
export function resultSeries(
  columns: readonly GridColumn[],
  rows: readonly GridRow[],
  time: number,
  numbers: readonly number[],
  group: number | undefined,
): ChartData {
  const at = (row: GridRow) => timeOf(row[time], columns[time]?.type ?? "");
  const known = rows.filter((row) => !Number.isNaN(at(row)));
  const times = [...new Set(known.map(at))].sort((a, b) => a - b);
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
