/**
 * The time buckets of one request. A bucket is named by an index, the same number in SQL and here: the engine groups by
 * the index, and `startOf` turns it into milliseconds. Sizes up to an hour are multiples since the epoch, shifted by
 * the zone's offset at the begin of the range; longer ones are multiples of wall-clock time, so that a day begins at
 * local midnight. Offsets reach the engine as constants: it never looks up a zone.
 */
import type { Granularity } from "../../api/charts.ts";
import type { ColumnType } from "../../clickhouse/types.ts";
import { AppError } from "../../lib/errors.ts";
import { dayAt, offsetAt, type Stretch, stretchesOf } from "../timezone.ts";
import { granularityMs } from "./granularity.ts";

/** A request for more buckets than this is refused. */
export const maxBuckets = 11_000;

const secondMs = 1000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Sizes that `auto` chooses from, in seconds. 10m is left out so that each divides the next but one. */
const autoSeconds = [15, 30, 60, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000];
const autoPoints = 60;

/** The size of a bucket in ms; `auto` aims at no more than 60 buckets, `none` is one bucket for the whole range. */
export function bucketSize(granularity: Granularity | "none", startMs: number, endMs: number): number {
  if (granularity === "none") return endMs - startMs + 1;
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

/** A stretch of time in which local time is `offsetMs` ahead; no index in it is below `least`. */
type Segment = Stretch & { readonly least: number };

export class Buckets {
  readonly sizeMs: number;
  readonly zone: string;
  readonly first: number;
  readonly last: number;
  readonly #startMs: number;
  readonly #endMs: number;
  readonly #whole: boolean;
  readonly #segments: readonly Segment[];

  /** Throws AppError BAD_REQUEST when the range has more than `maxBuckets` of them. */
  constructor(range: { startMs: number; endMs: number; granularity: Granularity | "none"; zone: string }) {
    const { startMs, endMs, granularity, zone } = range;
    this.sizeMs = bucketSize(granularity, startMs, endMs);
    this.zone = zone;
    this.#startMs = startMs;
    this.#endMs = endMs;
    this.#whole = granularity === "none";
    this.#segments = segmentsOf(range, this.sizeMs);
    this.first = this.indexOf(startMs);
    this.last = this.indexOf(endMs);
    if (this.count > maxBuckets) {
      const message = `the range has ${this.count} buckets of ${granularity}, at most ${maxBuckets} are allowed`;
      throw new AppError("BAD_REQUEST", message, {
        issues: [{ path: "granularity", message: `${message}; choose a coarser granularity or a shorter range` }],
      });
    }
  }

  /** Whether the whole range is one bucket, whatever its length. */
  get isOne(): boolean {
    return this.#whole;
  }

  get count(): number {
    return this.last - this.first + 1;
  }

  /** The bucket that holds an instant of the range. Later instants never have lesser ones. */
  indexOf(ms: number): number {
    const { offsetMs, least } = this.#segments.findLast(({ fromMs }) => fromMs <= ms) as Segment;
    return Math.max(least, Math.floor((ms + offsetMs) / this.sizeMs));
  }

  /** Start of the bucket in ms since the epoch: the first instant whose bucket is this or a later one. */
  startOf(index: number): number {
    const found = this.#segments.findIndex(({ least, offsetMs }, i) => {
      return least >= index || index * this.sizeMs - offsetMs < this.#endOf(i);
    });
    const { fromMs, offsetMs, least } = this.#segments[found] as Segment;
    return least >= index ? fromMs : Math.max(fromMs, index * this.sizeMs - offsetMs);
  }

  /** Whether no instant has this index: clocks that are put forward by a day skip the day's buckets. */
  isSkipped(index: number): boolean {
    return this.#segments.length > 1 && this.startOf(index) === this.startOf(index + 1);
  }

  /** The indexes that rows of the range may have. */
  occurring(type: ColumnType): { readonly base: number; readonly count: number } {
    // The day of a Date column may begin before the range does.
    const base = type.family === "date" ? Math.min(this.first, this.indexOf(this.#beginOfFirstDay())) : this.first;
    return { base, count: this.last - base + 1 };
  }

  /**
   * The index of a row's bucket as SQL. `time` is an expression of a Date, DateTime or DateTime64 type, not before
   * 1970. Times are divided once only, in the unit of the column, and by a constant of their own type, for which the
   * engine multiplies instead. Unless clocks change within the range, the range does not occur in the expression, so
   * that the engine compiles it once for all charts.
   */
  sql(time: string, type: ColumnType): string {
    if (this.#whole) return "0";
    // Rows without a time are outside of every range.
    const present = type.nullable ? `assumeNotNull(${time})` : time;
    if (type.family === "date") {
      // East of Greenwich the first day begins before 1970.
      const lead = this.zone === "UTC" ? 0 : Math.ceil((2 * dayMs) / this.sizeMs);
      return this.#index(this.#beginOfDay(present), { digits: 0, wide: true, lead });
    }
    if (type.name === "DateTime64") {
      const { name, digits } = units.findLast((unit) => unit.digits <= type.size) ?? units[0];
      return this.#index(`toUnixTimestamp64${name}(${present})`, { digits, wide: true });
    }
    // Half as wide and never negative, so faster as it is.
    return this.#index(`toUnixTimestamp(${present})`, { digits: 0, wide: false });
  }

  /**
   * The bucket of a count of 10^-digits seconds. The engine divides towards zero, so what is divided is not negative.
   */
  #index(sql: string, { digits, wide, lead: room = 0 }: { digits: number; wide: boolean; lead?: number }): string {
    const inUnits = (ms: number) => (BigInt(ms) * 10n ** BigInt(digits)) / BigInt(secondMs);
    const starts = this.#segments.slice(1).map(({ fromMs }) => inUnits(fromMs));
    const lead = Math.max(room, Math.ceil(-Math.min(...this.#segments.map(({ offsetMs }) => offsetMs)) / this.sizeMs));
    const offset = lookup(
      sql,
      starts,
      this.#segments.map(({ offsetMs }) => inUnits(offsetMs + lead * this.sizeMs)),
    );
    const size = wide ? `toInt64(${inUnits(this.sizeMs)})` : String(inUnits(this.sizeMs));
    const index = `intDiv(${sql}${offset === "0" ? "" : ` + ${offset}`}, ${size})${lead === 0 ? "" : ` - ${lead}`}`;
    // Clocks that are put back may show the time of a bucket that is over.
    const back = this.#segments.slice(1).some(({ fromMs, offsetMs, least }) => {
      return least > Math.floor((fromMs + offsetMs) / this.sizeMs);
    });
    if (!back) return index;
    const first = (this.#segments[1] as Segment).least;
    const least = this.#segments.map((segment) => BigInt(Math.max(first - 1_000_000, segment.least)));
    return `greatest(${index}, ${lookup(sql, starts, least)})`;
  }

  /** A Date has no time of day: it stands for the instant at which its day begins. In seconds. */
  #beginOfDay(sql: string): string {
    const local = `toInt64(toInt32(${sql})) * 86400`;
    if (this.zone === "UTC") return local;
    const stretches = this.#stretches();
    const seconds = (ms: number) => BigInt(ms / secondMs);
    const ends = stretches.slice(1).map(({ fromMs }, i) => seconds(fromMs + (stretches[i] as Stretch).offsetMs));
    const offset = lookup(
      local,
      ends,
      stretches.map(({ offsetMs }) => seconds(offsetMs)),
    );
    const begin = `${local} - ${offset}`;
    if (ends.length === 0) return begin;
    const least = stretches.map(({ fromMs }) => seconds(Math.max(fromMs, -2 * dayMs)));
    return `greatest(${begin}, ${lookup(local, ends, least)})`;
  }

  /** When the day begins in which the range does. */
  #beginOfFirstDay(): number {
    const local = dayAt(this.#startMs, this.zone) * dayMs;
    const stretches = this.#stretches();
    const holds = ({ offsetMs }: Stretch, i: number) =>
      local - offsetMs < (stretches[i + 1]?.fromMs ?? Number.POSITIVE_INFINITY);
    const { fromMs, offsetMs } = stretches[stretches.findIndex(holds)] as Stretch;
    return Math.max(fromMs, local - offsetMs);
  }

  /** Offsets from the day before the range to the day after it. */
  #stretches(): readonly Stretch[] {
    return stretchesOf(this.zone, this.#startMs - 3 * dayMs, this.#endMs + 3 * dayMs);
  }

  #endOf(segment: number): number {
    return this.#segments[segment + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
  }
}

/** What is added to a time before it is divided, from when on. */
function segmentsOf(
  { startMs, endMs, granularity, zone }: ConstructorParameters<typeof Buckets>[0],
  sizeMs: number,
): readonly Segment[] {
  const always = (offsetMs: number) => [
    { fromMs: Number.NEGATIVE_INFINITY, offsetMs, least: Number.NEGATIVE_INFINITY },
  ];
  if (granularity === "none") return always(-startMs);
  if (zone === "UTC") return always(0);
  if (sizeMs <= hourMs) return always(positiveRemainder(offsetAt(startMs, zone), sizeMs));
  const room = sizeMs + 3 * dayMs;
  let least = Number.NEGATIVE_INFINITY;
  let before: Stretch | undefined;
  return stretchesOf(zone, startMs - room, endMs + room).map((stretch) => {
    if (before !== undefined) least = Math.max(least, Math.floor((stretch.fromMs - 1 + before.offsetMs) / sizeMs));
    before = stretch;
    return { ...stretch, least };
  });
}

/** Up to so many steps are compared one after the other. */
const fewSteps = 8;

/** SQL of the value that holds at `sql`: the first below the first step, the next from that step on, and so on. */
function lookup(sql: string, steps: readonly bigint[], values: readonly bigint[]): string {
  if (values.every((value) => value === values[0])) return String(values[0]);
  if (steps.length <= fewSteps) {
    const cases = steps.map((step, i) => `${sql} < ${step}, ${values[i]}`);
    return `multiIf(${cases.join(", ")}, ${values.at(-1)})`;
  }
  const from = `CAST([${[-(2n ** 62n), ...steps].join(", ")}] AS Array(Int64))`;
  return `transform(roundDown(toInt64(${sql}), ${from}), ${from}, CAST([${values.join(", ")}] AS Array(Int64)), toInt64(0))`;
}

/** The one number from `base` up to below `base + modulus` that has this remainder. */
export function unwrap(remainder: number, base: number, modulus: number): number {
  return base + positiveRemainder(remainder - base, modulus);
}

function positiveRemainder(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
