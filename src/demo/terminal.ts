/** The demo's output: progress that redraws itself, a chart, and plain lines when the output is not a terminal. */
import { plot } from "asciichart";

const live = process.stdout.isTTY;

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Replaces the current line on a terminal; elsewhere prints only the final state. */
export function progress(text: string, final: boolean): void {
  if (live) process.stdout.write(`\r\u001b[2K${text}${final ? "\n" : ""}`);
  else if (final) say(text);
}

export function heading(text: string): void {
  say(live ? `\n\u001b[1m${text}\u001b[0m` : `\n${text}`);
}

export type Point = { readonly time: number; readonly value: number };

/** A line chart with its time range below. */
export function chart(title: string, points: readonly Point[], height = 10): void {
  heading(title);
  if (points.length < 2) {
    say("(not enough points yet)");
    return;
  }
  const width = Math.max(20, (process.stdout.columns ?? 100) - 16);
  const values = points.map((point) => point.value);
  const format = (value: number) => Math.round(value).toLocaleString("en-US").padStart(10);
  say(plot(values.length > width ? values.slice(-width) : values, { height, format }));
  const label = (point: Point | undefined) => new Date(point?.time ?? 0).toISOString().slice(0, 16).replace("T", " ");
  say(`${" ".repeat(12)}${label(points[0])}  to  ${label(points.at(-1))} (UTC)`);
}
