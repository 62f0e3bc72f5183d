/** A search with its defaults: the range, the direction and the number of rows. */
import type { SearchRequest } from "../../api/explore.ts";
import { isWord, tokenize } from "../../clickhouse/lexer.ts";

const defaultRangeMs = 15 * 60_000;
const defaultLimit = 100;

export type RowsRequest = Omit<SearchRequest, "maxResults"> & {
  readonly startTime: number;
  readonly endTime: number;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
  /** Whether a next page can begin where this one ends: its request has the same range, and no offset. */
  readonly isPaged: boolean;
};

/** What the request asks for at this time. */
export function rowsRequestOf(request: SearchRequest, nowMs: number): RowsRequest {
  const { maxResults, limit = maxResults ?? defaultLimit, offset, orderBy: _, ...rest } = request;
  const endTime = request.endTime ?? Math.max(nowMs, request.startTime ?? 0);
  const startTime = request.startTime ?? Math.max(0, endTime - defaultRangeMs);
  const isPaged = offset === undefined && request.startTime !== undefined && request.endTime !== undefined;
  return { ...rest, ...directed(request), startTime, endTime, limit, offset: offset ?? 0, isPaged };
}

/** The expression and its direction: `order`, or else the last word of the expression. */
function directed({ orderBy, order }: SearchRequest): Pick<RowsRequest, "orderBy" | "order"> {
  const tokens = orderBy === undefined ? [] : tokenize(orderBy);
  const last = tokens.at(-1);
  const written = isWord(last, "DESC") ? "desc" : isWord(last, "ASC") ? "asc" : undefined;
  const text = written === undefined || tokens.length === 1 ? orderBy : orderBy?.slice(0, last?.start).trim();
  return { ...(text === undefined || text === "" ? {} : { orderBy: text }), order: order ?? written ?? "desc" };
}
