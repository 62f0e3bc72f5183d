/** The gauges of a pipe, from those of its workers. */

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
