/** From the rows of a chart request to series. */
import type { ChartData, ChartSeries } from "./types.ts";

/** A row of `queryChart`: one bucket of one group. */
export type AnswerRow = {
  readonly ts_bucket: number;
  readonly group: readonly unknown[];
  readonly others?: unknown;
  readonly [member: string]: unknown;
};

/**
 * One series per group and aggregate. `names` are those of the aggregates, in the order of the request; a single one is
 * left out of the names of groups.
 */
export function seriesOf(rows: readonly AnswerRow[], names: readonly string[], members?: readonly string[]): ChartData {
  const columns = members ?? names.map((_, index) => `series_${index}.data`);
  const times = [...new Set(rows.map(({ ts_bucket }) => ts_bucket))].sort((a, b) => a - b);
  const places = new Map(times.map((time, at) => [time, at]));
  const found = new Map<string, { name: string; values: (number | null)[] }>();
  for (const row of rows) {
    const group = groupText(row);
    for (const [index, column] of columns.entries()) {
      const key = `${index} ${group}`;
      let one = found.get(key);
      if (one === undefined) {
        one = { name: seriesName(names, index, group), values: new Array<number | null>(times.length).fill(null) };
        found.set(key, one);
      }
      one.values[places.get(row.ts_bucket) as number] = numberOf(row[column]);
    }
  }
  return { times, series: [...found.values()] as ChartSeries[] };
}

function seriesName(names: readonly string[], index: number, group: string): string {
  const name = names[index] ?? `series ${index + 1}`;
  if (group === "") return name;
  return names.length === 1 ? group : `${group} · ${name}`;
}

/** The group as text: empty without groups. */
export function groupText({ group, others }: Pick<AnswerRow, "group" | "others">): string {
  if (others === true) return "all others";
  return group.map((value) => (value === null ? "NULL" : value === "" ? "(empty)" : textOf(value))).join(", ");
}

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Numbers that do not fit into a double arrive as text. */
export function numberOf(value: unknown): number | null {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}
