/** The gauges of a pipe, from those of its workers. */
import type { WorkerStatus } from "../../protocol.ts";

type Gauges = Readonly<Record<string, number>>;

/** Times and ages: of several workers, the longest. Other gauges are summed. */
const longest: ReadonlySet<string> = new Set([
  "latencyMs",
  "lagSeconds",
  "listMs",
  "etaSeconds",
  "snapshotSecondsLeft",
]);
/** Their sum is known only when all workers know their part. */
const whole: ReadonlySet<string> = new Set(["lagMessages"]);

/** What depends on the end of the source, and that of a lane. */
const ofItsEnd = /^(lag|millisBehindLatest|filesPending|bytesPending)/;

/**
 * The gauges of a worker, whose source may be away: then nobody knows that nothing is left to read, and what was left
 * before is the least that is.
 */
export function knownGauges({ gauges, status }: { readonly gauges: Gauges; readonly status: WorkerStatus }): Gauges {
  if (!("isSourceAway" in status) || status.isSourceAway !== true) return gauges;
  return Object.fromEntries(
    Object.entries(gauges).filter(([name, value]) => name !== "etaSeconds" && !(value === 0 && ofItsEnd.test(name))),
  );
}

/** A gauge that is not known is absent, never 0. */
export function gaugesOfAll(workers: readonly Gauges[]): Gauges {
  const all: Record<string, number> = {};
  for (const name of new Set(workers.flatMap((gauges) => Object.keys(gauges)))) {
    const values = workers.flatMap((gauges) => gauges[name] ?? []);
    if (whole.has(name) && values.length < workers.length) continue;
    all[name] = longest.has(name) ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
  }
  return all;
}
