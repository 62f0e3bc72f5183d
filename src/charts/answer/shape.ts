/** From what the plans answered to what the request asked for: merged, computed, limited and filled. Pure. */
import type { SeriesRequest } from "../../api/charts.ts";
import type { Formula } from "../formula.ts";
import type { Buckets } from "../plan/buckets.ts";
import type { Cell } from "../plan/cells.ts";
import type { Series, TimeRange } from "../plan/plan.ts";
import type { Answer } from "./answer.ts";
import { fillGaps, limitGroups, mergePlans, type PlanResult, ratioOf, withFormula } from "./rows.ts";

export type Asked = {
  readonly request: SeriesRequest;
  readonly range: TimeRange;
  readonly buckets: Buckets;
  readonly formula: Formula | undefined;
};

/**
 * How many groups the engine has to send: one more than the limit tells that groups were left out. Undefined where the
 * groups are ranked by more than the rows of one query.
 */
export function mostGroups({ limit, series, seriesReturnType }: SeriesRequest, planned: readonly Series[]) {
  const alone = planned.length === series.length && seriesReturnType !== "ratio";
  const grouped = (series[0]?.groupBy.length ?? 0) > 0;
  return limit !== undefined && alone && grouped ? limit + 1 : undefined;
}

/** The answer of a request from the rows of its plans. */
export function shape(ran: readonly PlanResult[], { request, buckets, formula }: Asked): Answer {
  let rows = mergePlans(ran, request.series);
  let columns = request.series.map((_, i) => `series_${i}`);
  const groups = request.series[0]?.groupBy.length ?? 0;
  if (formula !== undefined) rows = withFormula(rows, formula);
  if (request.seriesReturnType === "ratio") {
    const extra = formula === undefined ? [] : rows.map(({ values }) => values[2] as Cell);
    rows = ratioOf(rows).map((row, i) =>
      formula === undefined ? row : { ...row, values: [...row.values, extra[i] as Cell] },
    );
    columns = ["series_0"];
  }
  if (formula !== undefined) columns.push("formula");
  let truncated: boolean | undefined;
  if (request.limit !== undefined) ({ rows, truncated } = limitGroups(rows, request.limit));
  rows = fillGaps(rows, request.fill, buckets, { groups, values: columns.length });
  return { rows, columns, truncated };
}
