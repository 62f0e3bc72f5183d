/** The distance of a pipe from the end of its source, in the same words for every kind. Unknown is absent, never 0. */

export type PipeLag = {
  /** Messages or rows at the source that are not yet loaded. */
  readonly rows?: number;
  readonly bytes?: number;
  /** Objects that are not yet loaded. */
  readonly files?: number;
  /** Age of the newest data that is loaded, or of the oldest that is not. */
  readonly seconds?: number;
};

export type Trend = "growing" | "steady" | "shrinking";

/** A change below this share of the earlier value, or below one unit, is none. */
const steadyShare = 0.05;

/** Reads the gauges of a pipe's workers. The lane (partition, shard) that is furthest behind counts. */
export function lagOf(gauges: Readonly<Record<string, number>>): PipeLag {
  const rows = gauges.lagMessages;
  const bytes = gauges.lagBytes ?? gauges.bytesPending;
  const files = gauges.filesPending;
  const seconds = gauges.lagSeconds ?? mostOf(gauges, "lagSeconds:", 1) ?? mostOf(gauges, "millisBehindLatest:", 1_000);
  return {
    ...(rows === undefined ? {} : { rows }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(files === undefined ? {} : { files }),
    ...(seconds === undefined ? {} : { seconds: Math.round(seconds) }),
  };
}

/** The finest measure that both have: rows change with every batch, seconds may stand still while a pipe catches up. */
export function trendOf(before: PipeLag, now: PipeLag, seconds: number): { trend?: Trend; etaSeconds?: number } {
  for (const measure of ["rows", "bytes", "files", "seconds"] as const) {
    const [was, is] = [before[measure], now[measure]];
    if (was === undefined || is === undefined) continue;
    const change = is - was;
    const isSteady = Math.abs(change) <= Math.max(1, was * steadyShare);
    const trend = isSteady ? "steady" : change > 0 ? "growing" : "shrinking";
    if (is === 0) return { trend, etaSeconds: 0 };
    return trend === "shrinking" ? { trend, etaSeconds: Math.ceil((is * seconds) / -change) } : { trend };
  }
  return {};
}

function mostOf(gauges: Readonly<Record<string, number>>, prefix: string, divisor: number): number | undefined {
  let most: number | undefined;
  for (const [name, value] of Object.entries(gauges)) {
    if (name.startsWith(prefix)) most = Math.max(most ?? 0, value / divisor);
  }
  return most;
}
