/** What the address of Explore keeps: the chart, its range, and whether rows of a moment are shown. */
import { type ChartDefinition, chartDefinition } from "../../charts/definition.ts";
import { defaultRange, type TimeRange } from "../../charts/time-range.ts";

export type ExploreSearch = TimeRange & {
  readonly chart: ChartDefinition;
  /** Both ends of the rows that a click in the chart chose. */
  readonly rowsFrom?: number;
  readonly rowsTo?: number;
  /** Fields that are shown of each row; a summary of it without them. */
  readonly columns?: readonly string[];
};

export function exploreSearch(search: Record<string, unknown>): ExploreSearch {
  const text = (value: unknown, otherwise: string) => (value === undefined || value === "" ? otherwise : String(value));
  const time = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
  const [rowsFrom, rowsTo] = [time(search.rowsFrom), time(search.rowsTo)];
  const columns = Array.isArray(search.columns) ? search.columns.filter((name) => typeof name === "string") : [];
  return {
    from: text(search.from, defaultRange.from),
    to: text(search.to, defaultRange.to),
    chart: chartDefinition(search.chart),
    ...(rowsFrom === undefined || rowsTo === undefined ? {} : { rowsFrom, rowsTo }),
    ...(columns.length === 0 ? {} : { columns }),
  };
}
