/**
 * The time buckets of one request. A bucket is named by an index, the same number in SQL and here: the engine groups
 * by the index, and `startOf` turns it into milliseconds. Sizes up to an hour are multiples since the epoch, shifted by
 * the zone's offset; longer ones are multiples of wall-clock time, so that a day begins at local midnight.
 */
import type { Granularity } from "../../api/charts.ts";
import { literal } from "../../clickhouse/sql.ts";
import type { ColumnType } from "../../clickhouse/types.ts";
import { AppError } from "../../lib/errors.ts";
import { instantOf, offsetAt } from "../timezone.ts";
import { granularityMs } from "./granularity.ts";

/** A request for more buckets than this is refused. */
export const maxBuckets = 11_000;

const secondMs = 1000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Sizes that `auto` chooses from, in seconds. 10m is left out so that each divides the next but one. */
const autoSeconds = [15, 30, 60, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000];
const autoPoints = 60;

/** The size of a bucket in ms; `auto` aims at no more than 60 buckets. */
export function bucketSize(granularity: Granularity, startMs: number, endMs: number): number {
  if (granularity !== "auto") return granularityMs[granularity];
  const wanted = Math.ceil(Math.floor((endMs - startMs) / secondMs) / autoPoints);
  return (autoSeconds.find((seconds) => seconds >= wanted) ?? 2_592_000) * secondMs;
}

const units = [
  { name: "Second", digits: 0 },
  { name: "Milli", digits: 3 },
  { name: "Micro", digits: 6 },
  { name: "Nano", digits: 9 },
] as const;

export class Buckets {
  readonly sizeMs: number;
  readonly zone: string;
  readonly first: number;
  readonly last: number;
  readonly #shift: number;

  /** Throws AppError BAD_REQUEST when the range has more than `maxBuckets` of them. */
  constructor(range: { startMs: number; endMs: number; granularity: Granularity; zone: string }) {
    this.sizeMs = bucketSize(range.granularity, range.startMs, range.endMs);
    this.zone = range.zone;
    this.#shift = this.#byWallClock ? 0 : positiveRemainder(offsetAt(range.startMs, range.zone), this.sizeMs);
    this.first = this.indexOf(range.startMs);
    this.last = this.indexOf(range.endMs);
    if (this.count > maxBuckets) {
      const message = `the range has ${this.count} buckets of ${range.granularity}, at most ${maxBuckets} are allowed`;
      throw new AppError("BAD_REQUEST", message, {
        issues: [{ path: "granularity", message: `${message}; choose a coarser granularity or a shorter range` }],
      });
    }
  }

  get count(): number {
    return this.last - this.first + 1;
  }

  indexOf(ms: number): number {
    const local = this.#byWallClock ? ms + offsetAt(ms, this.zone) : ms + this.#shift;
    return Math.floor(local / this.sizeMs);
  }

  /** Start of the bucket in ms since the epoch. */
  startOf(index: number): number {
    const local = index * this.sizeMs - this.#shift;
    if (!this.#byWallClock) return local;
    const clock = new Date(local);
    return instantOf(
      {
        year: clock.getUTCFullYear(),
        month: clock.getUTCMonth() + 1,
        day: clock.getUTCDate(),
        hour: clock.getUTCHours(),
        minute: clock.getUTCMinutes(),
        second: 0,
      },
      this.zone,
    );
  }

  /** The indexes that rows of the range may have. */
  occurring(type: ColumnType): { readonly base: number; readonly count: number } {
    // The days of a Date column may begin before the range does, by a day and the hour of a clock change.
    const base = type.family === "date" ? this.first - Math.ceil((25 * hourMs) / this.sizeMs) : this.first;
    return { base, count: this.last - base + 1 };
  }

  /**
   * The index of a row's bucket as SQL. `time` is an expression of a Date, DateTime or DateTime64 type, not before
   * 1970. The expression is the same for every range, so that the engine compiles it once; times are divided once only,
   * in the unit of the column, and by a constant of their own type, for which the engine multiplies instead.
   */
  sql(time: string, type: ColumnType): string {
    // Rows without a time are outside of every range.
    const present = type.nullable ? `assumeNotNull(${time})` : time;
    const zone = literal(this.zone);
    const local = this.#byWallClock ? `timeZoneOffset(toTimeZone(${present}, ${zone}))` : undefined;
    if (type.family === "date") {
      // A Date has no time of day: it belongs to the bucket in which its day begins.
      const wall = this.zone === "UTC" || this.#byWallClock;
      const days = wall ? `toInt64(toInt32(${present})) * 86400` : undefined;
      return this.#divided(days ?? `toUnixTimestamp64Second(toDateTime64(${present}, 0, ${zone}))`, 0);
    }
    if (type.name === "DateTime64") {
      const { name, digits } = units.findLast((unit) => unit.digits <= type.size) ?? units[0];
      const offset = local === undefined ? "" : ` + ${local} * ${10 ** digits}`;
      return this.#divided(`toUnixTimestamp64${name}(${present})${offset}`, digits);
    }
    if (local !== undefined) return this.#divided(`toUnixTimestamp(${present}) + ${local}`, 0);
    // Half as wide and never negative, so faster as it is.
    const shift = this.#shift === 0 ? "" : ` + ${this.#shift / secondMs}`;
    return `intDiv(toUnixTimestamp(${present})${shift}, ${this.sizeMs / secondMs})`;
  }

  /** The bucket of a signed 64-bit count of 10^-digits seconds. */
  #divided(sql: string, digits: number): string {
    const inUnits = (ms: number) => (BigInt(ms) * 10n ** BigInt(digits)) / BigInt(secondMs);
    const size = `toInt64(${inUnits(this.sizeMs)})`;
    if (this.zone === "UTC") return `intDiv(${sql}, ${size})`;
    // West of Greenwich local time begins before 1970, and the engine divides towards zero.
    const lead = Math.ceil(dayMs / this.sizeMs);
    return `intDiv(${sql} + ${inUnits(lead * this.sizeMs + this.#shift)}, ${size}) - ${lead}`;
  }

  get #byWallClock(): boolean {
    return this.zone !== "UTC" && this.sizeMs > hourMs;
  }
}

/** The one number from `base` up to below `base + modulus` that has this remainder. */
export function unwrap(remainder: number, base: number, modulus: number): number {
  return base + positiveRemainder(remainder - base, modulus);
}

function positiveRemainder(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
