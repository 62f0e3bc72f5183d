/** From the rows of a chart request to series. */
import type { ChartData, ChartSeries, Places } from "./types.ts";
import type { ChartAnswer } from "./use-chart.ts";

/** A row of `queryChart`: one bucket of one group. */
export type AnswerRow = {
  readonly ts_bucket: number;
  readonly group: readonly unknown[];
  readonly others?: unknown;
  readonly [member: string]: unknown;
};

type Answer = Pick<ChartAnswer, "meta" | "otherGroups"> & { readonly data: readonly AnswerRow[] };

/**
 * One series per group and aggregate, the others last. `names` are those of the aggregates, in the order of the
 * request; a single one is left out of the names of groups. `empty` is the value of others in a bucket without rows.
 */
export function seriesOf(
  { data, meta, otherGroups }: Answer,
  names: readonly string[],
  members: readonly string[],
  empty: 0 | null,
): ChartData {
  const times = [...new Set(data.map(({ ts_bucket }) => ts_bucket))].sort((a, b) => a - b);
  const places = new Map(times.map((time, at) => [time, at]));
  const found = new Map<string, ChartSeries & { values: (number | null)[] }>();
  for (const row of data) {
    const group = groupText(row, otherGroups);
    const isRest = row.others === true;
    for (const [index, member] of members.entries()) {
      const key = JSON.stringify([index, isRest, row.group]);
      let one = found.get(key);
      if (one === undefined) {
        const values = new Array<number | null>(times.length).fill(isRest ? empty : null);
        one = { name: seriesName(names, index, group), values, measure: index, ...(isRest ? { isRest } : {}) };
        found.set(key, one);
      }
      one.values[places.get(row.ts_bucket) as number] = numberOf(row[member]);
    }
  }
  const all = [...found.values()];
  const series = [...all.filter(({ isRest }) => isRest !== true), ...all.filter(({ isRest }) => isRest === true)];
  return { times, series: toldApart(series), bucketMs: meta.bucketMs, whole: wholeOf(times, meta) };
}

/** Charts know series by their names: one that repeats, as that of NULL and of the text NULL, gets a number. */
export function toldApart<Series extends { readonly name: string }>(series: readonly Series[]): Series[] {
  const taken = new Set<string>();
  return series.map((one) => {
    let { name } = one;
    for (let count = 2; taken.has(name); count += 1) name = `${one.name} (${count})`;
    taken.add(name);
    return { ...one, name };
  });
}

/** A bucket is whole if the range has all of it and it was over when the engine was asked. */
export function wholeOf(times: readonly number[], meta: ChartAnswer["meta"]): Places {
  const asOf = Date.parse(meta.asOf);
  const first = meta.firstBucketPartial ? 1 : 0;
  let end = times.length - (meta.lastBucketPartial ? 1 : 0);
  while (end > first && (times[end - 1] as number) + meta.bucketMs > asOf + 1) end -= 1;
  return { first, end: Math.max(first, end) };
}

export function seriesName(names: readonly string[], index: number, group: string): string {
  const name = names[index] ?? `series ${index + 1}`;
  if (group === "") return name;
  return names.length === 1 ? group : `${group} · ${name}`;
}

/** The group as text: empty without groups. */
export function groupText({ group, others }: Pick<AnswerRow, "group" | "others">, otherGroups?: number): string {
  if (others === true) return otherGroups === undefined ? "other" : `other (${otherGroups})`;
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
