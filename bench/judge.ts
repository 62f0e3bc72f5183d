/** Compares what a run has measured with its goals. */
import type { Summary } from "./bench.ts";
import type { Goal } from "./goals.ts";

export type Judged = {
  readonly ok: boolean;
  readonly rows: readonly Record<string, string | number>[];
  /** Fields that miss their goals. */
  readonly missed: readonly string[];
};

/** A field that is missing or not a number misses its goal, and a run with a `problem` is not ok. */
export function judged(goals: readonly Goal[], summary: Summary): Judged {
  const results = goals.map((goal) => {
    const { field, why, or } = goal;
    const value = summary[field];
    const share = or === undefined ? undefined : summary[or.field];
    const met =
      typeof value === "number" &&
      ((goal.least !== undefined ? value >= goal.least : value <= goal.most) ||
        (or !== undefined && typeof share === "number" && share >= or.least));
    const own = goal.least !== undefined ? `>= ${goal.least}` : `<= ${goal.most}`;
    const bound = or === undefined ? own : `${own}, or ${or.field} >= ${or.least}`;
    return {
      met,
      field,
      row: { field, value: value === undefined ? "-" : String(value), goal: bound, met: met ? "yes" : "NO", why },
    };
  });
  const missed = results.filter(({ met }) => !met).map(({ field }) => field);
  const ok = goals.length > 0 && missed.length === 0 && summary.problem === undefined;
  return { ok, rows: results.map(({ row }) => row), missed };
}

/**
 * Whether more of a field is better (1) or worse (-1): its goal says so, or its name. 0: neither does. A ratio of which
 * less is better needs a goal.
 */
export function directionOf(goals: readonly Goal[], field: string): -1 | 0 | 1 {
  const goal = goals.find((one) => one.field === field);
  if (goal !== undefined) return goal.least !== undefined ? 1 : -1;
  if (/(?:Ratio|PerSecond|^ratio|^of[A-Z]\w*)$/.test(field)) return 1;
  return /(?:Ms|Us|Seconds|Mb|Percent|Share|Cpu)$/.test(field) ? -1 : 0;
}
