/** Numbers and durations as text. Units follow the API: bytes are binary. */

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `1.5 GiB`; at most one digit after the point. */
export function bytesText(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${bytes < 0 ? "-" : ""}${value.toFixed(digits)} ${units[unit]}`;
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** All digits with separators: `1,234,567`. */
export function countText(count: number): string {
  return whole.format(count);
}

/** Short above 10,000: `1.2M`. */
export function shortCountText(count: number): string {
  if (count !== 0 && Math.abs(count) < 10) return String(Math.round(count * 10) / 10);
  return Math.abs(count) < 10_000 ? whole.format(count) : short.format(count);
}

/** `1 row`, `1,234 rows`. */
export function counted(count: number, thing: string, text = countText): string {
  return `${text(count)} ${thing}${count === 1 ? "" : "s"}`;
}

const steps = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** `14 min`, `2 h 5 min`, `1.4 s`, `850 ms`: at most two units, and a digit after the point below 10 s. */
export function durationText(seconds: number): string {
  if (seconds < 0.9995) return seconds <= 0 ? "0 s" : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const rounded = Math.round(seconds);
  const index = steps.findIndex(([size]) => rounded >= size);
  const [size, word] = steps[index] ?? [1, "s"];
  const head = Math.floor(rounded / size);
  const next = steps[index + 1];
  const rest = next === undefined ? 0 : Math.floor((rounded % size) / next[0]);
  if (next === undefined || rest === 0 || head >= 10) return `${head} ${word}`;
  return `${head} ${word} ${rest} ${next[1]}`;
}

/** `3 min ago`, `in 14 min`, `now`. Both times are of the server's clock, in milliseconds. */
export function relativeText(time: number, now: number): string {
  const seconds = Math.round((now - time) / 1000);
  if (Math.abs(seconds) < 2) return "now";
  const [size, word] = steps.find(([least]) => Math.abs(seconds) >= least) ?? [1, "s"];
  const amount = `${Math.floor(Math.abs(seconds) / size)} ${word}`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** `fetchedRows` as `Fetched rows`. */
export function wordsOf(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return capitalized(words.replaceAll(/\b(gb|iam|ttl)\b/g, (short) => short.toUpperCase()));
}

/** The member at a path of a request: `destination.columns.0` as `Columns`. */
export function wordsAt(path: string): string {
  return wordsOf(path.split(".").findLast((part) => !/^\d+$/.test(part)) ?? path);
}

/** `source.relationalDb.port: ...` as `Port: ...`: members that a sentence of the server names, in words. */
export function inWords(text: string): string {
  return text.replaceAll(/\bsource(?:\.\w+)+/g, wordsAt);
}

/** The text with a capital at its beginning. A reason from the server is often a part of a sentence. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
