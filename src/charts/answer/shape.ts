/** From what the plans answered to what the request asked for: merged, computed, limited and filled. Pure. */
import type { ChartRequest } from "../../api/charts.ts";
import type { Formula } from "../formula.ts";
import type { Buckets } from "../plan/buckets.ts";
import type { Cell } from "../plan/cells.ts";
import type { Series, TimeRange } from "../plan/plan.ts";
import type { ChartAnswer } from "./answer.ts";
import { limitGroups, ordered, othersOf, rankingOf } from "./groups.ts";
import { emptyValue, fillGaps, mergePlans, type PlanResult, type Row, ratioOf, withFormula } from "./rows.ts";

export type AnswerRequest = {
  readonly request: ChartRequest;
  readonly range: TimeRange;
  readonly buckets: Buckets;
  readonly formula: Formula | undefined;
};

/**
 * How many groups the engine has to send: one more than the limit shows that groups were left out. Undefined where the
 * groups are ranked by more than the rows of one query, or by something else than the first series.
 */
export function mostGroups(request: ChartRequest, planned: readonly Series[]): number | undefined {
  const { limit, series, seriesReturnType, others } = request;
  const alone = planned.length === series.length && seriesReturnType !== "ratio";
  const grouped = (series[0]?.groupBy.length ?? 0) > 0;
  const ranking = rankingOf(request);
  const byFirst = ranking !== "group" && ranking.column === 0 && !ranking.ascending;
  return limit !== undefined && alone && grouped && byFirst && others !== true ? limit + 1 : undefined;
}

/** The answer of a request from the rows of its plans. */
export function shape(executed: readonly PlanResult[], { request, buckets, formula }: AnswerRequest): ChartAnswer {
  let rows = mergePlans(executed, request.series);
  let columns = request.series.map((_, i) => `series_${i}`);
  const groups = request.series[0]?.groupBy.length ?? 0;
  // A number of no rows is a number all the same.
  const single = request.granularity === "none" && groups === 0;
  if (single && rows.length === 0) rows = [{ bucket: 0, group: [], values: request.series.map(emptyValue) }];
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
  let otherGroups: number | undefined;
  let others: Row[] = [];
  if (request.limit !== undefined) {
    const limited = limitGroups(rows, request.limit, rankingOf(request));
    rows = limited.rows;
    truncated = limited.left.length > 0;
    if (request.others === true) {
      others = othersOf(limited.left, request.series);
      otherGroups = limited.leftGroups;
    }
  }
  rows = fillGaps(rows, request.fill, buckets, { groups, values: columns.length });
  // The row of a bucket's others follows its groups.
  if (others.length > 0)
    rows = [...rows, ...others].sort((a, b) => a.bucket - b.bucket || Number(a.others ?? 0) - Number(b.others ?? 0));
  if (request.orderBy !== undefined) rows = ordered(rows, request);
  return { rows, columns, truncated, otherGroups };
}
