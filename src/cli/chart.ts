/** Charts of text: one row of blocks per group, with the range of values and times. */
import { cutTo, printable, styled, widthOf } from "./output/text.ts";

export type ChartPoint = Readonly<Record<string, unknown>> & {
  readonly ts_bucket: number;
  readonly group: readonly unknown[];
};

const blocks = " ▁▂▃▄▅▆▇█";
const height = 8;

/** What was asked for: its time is drawn where it is empty, too. */
export type ChartRange = { readonly from: number; readonly to: number; readonly bucketMs: number };

/** The lines of a chart; without rows none. A single series is drawn `height` lines high, groups one line each. */
export function chartLines(rows: readonly ChartPoint[], look: Look, range?: ChartRange): string[] {
  if (rows.length === 0) return [];
  const groups = Map.groupBy(rows, ({ group }) => group.map(String).join(", "));
  const known = [...new Set(rows.map((row) => row.ts_bucket))].toSorted((a, b) => a - b);
  const times = range === undefined ? known : bucketsOf(known, range);
  const drawn = [...groups].map(([name, points]) => ({ name: printable(name), values: valuesOf(points, times) }));
  const [only] = drawn;
  const lines = drawn.length === 1 && only !== undefined ? tall(only.values, look) : flat(drawn, look);
  return [...lines, axis(times, look.width)];
}

/** All buckets of the range, in step with those that have rows. */
function bucketsOf([first = 0, ...others]: readonly number[], { from, to, bucketMs }: ChartRange): number[] {
  const last = Math.max(first, ...others, to - 1);
  const begin = first - Math.max(0, Math.ceil((first - from) / bucketMs)) * bucketMs;
  return Array.from({ length: Math.floor((last - begin) / bucketMs) + 1 }, (_, at) => begin + at * bucketMs);
}

type Look = { readonly width: number; readonly color: boolean };

/** A value for each time; undefined where there is none. */
function valuesOf(points: readonly ChartPoint[], times: readonly number[]): (number | undefined)[] {
  const byTime = new Map(points.map((point) => [point.ts_bucket, Number(point["series_0.data"] ?? Number.NaN)]));
  return times.map((time) => {
    const value = byTime.get(time);
    return value === undefined || Number.isNaN(value) ? undefined : value;
  });
}

/** Values brought to a number of columns: the greatest of those that share one. */
function columnsOf(values: readonly (number | undefined)[], width: number): (number | undefined)[] {
  const size = Math.min(width, Math.max(values.length, Math.min(width, 60)));
  return Array.from({ length: size }, (_, i) => {
    const from = Math.floor((i * values.length) / size);
    const to = Math.max(from + 1, Math.floor(((i + 1) * values.length) / size));
    const present = values.slice(from, to).filter((value) => value !== undefined);
    return present.length === 0 ? undefined : Math.max(...present);
  });
}

function tall(values: readonly (number | undefined)[], { width, color }: { width: number; color: boolean }): string[] {
  const known = values.filter((value) => value !== undefined);
  const top = Math.max(0, ...known);
  const bottom = Math.min(0, ...known);
  const labels = [shortNumber(top), shortNumber(bottom)];
  const left = Math.max(...labels.map(widthOf)) + 1;
  const columns = columnsOf(values, width - left);
  return Array.from({ length: height }, (_, row) => {
    const label = row === 0 ? labels[0] : row === height - 1 ? labels[1] : "";
    const level = height - 1 - row;
    const cells = columns.map((value) => {
      if (value === undefined || top === bottom) return " ";
      const filled = ((value - bottom) / (top - bottom)) * height - level;
      return blocks[Math.max(0, Math.min(8, Math.round(filled * 8)))] ?? " ";
    });
    return `${(label ?? "").padStart(left - 1)} ${styled(cells.join("").trimEnd(), "cyan", color)}`.trimEnd();
  });
}

type Drawn = { readonly name: string; readonly values: readonly (number | undefined)[] };

function flat(drawn: readonly Drawn[], { width, color }: { width: number; color: boolean }): string[] {
  const left = Math.min(30, Math.max(...drawn.map(({ name }) => widthOf(name))));
  const top = Math.max(...drawn.flatMap(({ values }) => values.filter((value) => value !== undefined)), 0);
  return drawn.map(({ name, values }) => {
    const cells = columnsOf(values, width - left - 12).map((value) =>
      value === undefined || top <= 0 ? " " : (blocks[Math.max(1, Math.round((Math.max(0, value) / top) * 8))] ?? " "),
    );
    const greatest = Math.max(...values.filter((value) => value !== undefined), 0);
    const title = cutTo(name, left);
    return `${title}${" ".repeat(left - widthOf(title))} ${styled(cells.join(""), "cyan", color)} ${shortNumber(greatest)}`;
  });
}

function axis(times: readonly number[], width: number): string {
  const text = (time: number | undefined) => `${new Date(time ?? 0).toISOString().slice(0, 16).replace("T", " ")}`;
  const [from, to] = [text(times[0]), `${text(times.at(-1))} UTC`];
  return from === to ? to : cutTo(`${from} to ${to}`, width);
}

/** `12.3M`: at most four characters of digits. */
export function shortNumber(value: number): string {
  const units = ["", "k", "M", "G", "T", "P"];
  let scaled = value;
  let unit = 0;
  for (; Math.abs(scaled) >= 1000 && unit < units.length - 1; unit += 1) scaled /= 1000;
  const digits = Number.isInteger(scaled) || Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${scaled.toFixed(digits)}${units[unit]}`;
}
