/** Random tables of rows with times, values and groups, and the statements that create them. */
import type { Dice } from "../random.ts";

export type ModelRow = {
  /** Nanoseconds since the epoch. */
  readonly time: bigint;
  readonly b: string;
  readonly n: number | null;
  readonly big: bigint;
  readonly f: number;
  /** Thousandths. */
  readonly dec: number;
  readonly k: bigint;
};

export type ModelTable = {
  readonly name: string;
  readonly type: string;
  readonly digits: number;
  readonly sorted: string;
  readonly rows: readonly ModelRow[];
};

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const second = 1_000_000_000n;

/** Lists of time expressions whose finest member is `ts`: all of them select the same rows. */
export const timeLists = [
  "ts",
  "toStartOfHour(ts), ts",
  "d, ts",
  "ts, d",
  "dd, ts",
  "tokyo, ts",
  "nd, ts",
  "h, ts",
  "sec, ts",
  "toDate(ts, 'Pacific/Apia'), ts",
  "toStartOfMonth(ts), ts",
  "toStartOfInterval(ts, INTERVAL 15 MINUTE), ts",
  "toStartOfDay(ts), toStartOfHour(ts), ts",
];

const types = [
  { type: "DateTime", digits: 0 },
  { type: "DateTime('America/St_Johns')", digits: 0 },
  { type: "DateTime64(3)", digits: 3 },
  { type: "DateTime64(6, 'Asia/Kolkata')", digits: 6 },
  { type: "DateTime64(9, 'UTC')", digits: 9 },
] as const;
const orders = [
  "ts",
  "tuple()",
  "(toStartOfHour(ts), ts)",
  "(d, b, ts)",
  "(sec, ts)",
  "(b, h)",
  "(timeSlot(ts), b)",
  "(b, toDate(ts))",
];

/** A table whose rows lie within a few days of `centerMs`. */
export function randomTable(dice: Dice, name: string, centerMs: number, count: number): ModelTable {
  const { type, digits } = dice.pick(types);
  const unit = 10n ** BigInt(9 - digits);
  const rows = Array.from({ length: count }, (): ModelRow => {
    const step = dice.pick([1, 1, 30_000, 1_800_000, hourMs]);
    const ms = centerMs + Math.floor((dice.below(6 * dayMs) - 3 * dayMs) / step) * step - dice.pick([0, 0, 1]);
    const ns = BigInt(Math.max(ms, dayMs)) * 1_000_000n + BigInt(dice.pick([0, 0, 1, 500_000, 999_999]));
    return {
      time: (ns / unit) * unit,
      b: dice.pick(["x", "y", "z"]),
      n: dice.below(7) === 0 ? null : dice.below(1000) - 200,
      big: 1_710_115_200_000_000_000n + 1024n * BigInt(dice.below(1000)),
      f: (dice.below(2_000_000) - 1_000_000) / 64,
      dec: dice.below(2_000_000) - 1_000_000,
      k: 9_007_199_254_740_992n + BigInt(dice.below(3)),
    };
  });
  return { name, type, digits, sorted: dice.pick(orders), rows };
}

/** The statements that create the table, and its rows as lines of JSON. */
export function tableStatements(
  database: string,
  table: ModelTable,
): { create: string; insert: string; lines: string } {
  const place = `${database}.${table.name}`;
  return {
    create: `CREATE TABLE ${place} (ts ${table.type}, d Date, dd Date DEFAULT toDate(ts), nd Nullable(Date),
      tokyo Date MATERIALIZED toDate(ts, 'Asia/Tokyo'), h DateTime MATERIALIZED toStartOfHour(ts),
      sec DateTime DEFAULT toDateTime(ts), b LowCardinality(String), n Nullable(Int32), big Int64, f Float64,
      dec Decimal(18, 3), k UInt64) ENGINE = MergeTree ORDER BY ${table.sorted}
      SETTINGS index_granularity = 32, allow_nullable_key = 1`,
    insert: `INSERT INTO ${place} (ts, d, nd, b, n, big, f, dec, k) FORMAT JSONEachRow`,
    lines: table.rows
      .map(({ time, b, n, big, f, dec, k }, i) => {
        const utc = new Date(Number(time / 1_000_000n)).toISOString().slice(0, 10);
        const nd = i % 3 === 0 ? null : utc;
        return JSON.stringify({
          ts: timeText(table, time),
          d: utc,
          nd,
          b,
          n,
          big: String(big),
          f,
          dec: dec / 1000,
          k: String(k),
        });
      })
      .join("\n"),
  };
}

/** A unix time, with as many digits as the column has. */
function timeText({ digits }: ModelTable, time: bigint): string {
  const whole = String(time / second);
  return digits === 0
    ? whole
    : `${whole}.${String(time % second)
        .padStart(9, "0")
        .slice(0, digits)}`;
}
