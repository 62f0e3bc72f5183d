/** What charts need beside series (observability API): rows of a source, its fields and their values, suggestions. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { sourceBody } from "./chart-sources.ts";
import { chartMeta, endMilliseconds, metricTypes, milliseconds, wakeMember } from "./charts.ts";
import { operation, timestamp, uuid } from "./operation.ts";

const sourceId = z.string().min(1).max(100);
const text = z.string().max(32_768);
const filter = {
  where: text.default("").describe("Filter; empty selects all rows"),
  whereLanguage: z.enum(["lucene", "sql"]).default("lucene").describe("Language of where"),
  timezone: z.string().max(64).default("UTC").describe("IANA time zone of times in the filter"),
};
const metricDataType = z.enum(metricTypes).optional().describe("Table of a metric source with more than one");

type Range = { readonly startTime?: number | undefined; readonly endTime?: number | undefined };

function checkRange({ startTime, endTime }: Range, context: z.RefinementCtx): void {
  const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  if ((startTime === undefined) !== (endTime === undefined)) {
    fail(startTime === undefined ? "startTime" : "endTime", "startTime and endTime are given together");
  } else if (startTime !== undefined && endTime !== undefined && startTime > endTime) {
    // A mistake is reported once.
    if (endMilliseconds.safeParse(endTime).success) fail("endTime", "endTime must not be before startTime");
  }
}

/** A time in ms, or as ISO 8601 text, as the HyperDX API takes it. */
function moment(inMilliseconds: z.ZodType<number>, description: string) {
  const parsed = (value: unknown) =>
    typeof value === "string" && timestamp.safeParse(value).success ? Date.parse(value) : value;
  return z
    .preprocess(parsed, inMilliseconds)
    .optional()
    .meta({ type: ["integer", "string"] })
    .describe(description);
}

export const searchRequest = z
  .strictObject({
    sourceId,
    startTime: moment(
      milliseconds,
      "Start of the range, inclusive, in ms or ISO 8601; default: 15 minutes before its end",
    ),
    endTime: moment(endMilliseconds, "End of the range, inclusive, in ms or ISO 8601; default: now"),
    ...filter,
    select: text
      .optional()
      .describe(
        "Comma list of columns, paths and SQL expressions, each with AS name if wanted; default: the source's defaultTableSelectExpression, or all columns",
      ),
    orderBy: text
      .optional()
      .describe(
        "Column, path or SQL expression to sort by, with ASC or DESC after it in place of order; default: the time of a row",
      ),
    order: z.enum(["asc", "desc"]).optional().describe("Direction of the sort, default desc; missing values come last"),
    limit: z.int().min(1).max(1000).optional().describe("Most rows of a page; default 100"),
    maxResults: z.int().min(1).max(2000).optional().describe("The same, in place of limit"),
    offset: z.int().min(0).max(10_000).optional().describe("Rows to leave out at the beginning, in place of cursor"),
    cursor: z.string().max(65_536).optional().describe("nextCursor of the page before; all else stays the same"),
    metricDataType,
    wake: wakeMember,
  })
  .superRefine((body, context) => {
    const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    const { startTime, endTime, limit, maxResults, offset, cursor } = body;
    if (startTime !== undefined && endTime !== undefined) checkRange(body, context);
    if (limit !== undefined && maxResults !== undefined)
      fail("maxResults", "stands in place of limit; send one of them");
    if (cursor === undefined) return;
    if (offset !== undefined) fail("offset", "stands in place of cursor; send one of them");
    if (startTime === undefined || endTime === undefined) fail("cursor", "needs startTime and endTime");
  })
  .meta({ id: "SearchRequest" });

export type SearchRequest = z.output<typeof searchRequest>;

const { rowsRead, bytesRead, elapsedMs, cache, asOf, warnings } = chartMeta.shape;
const readMeta = z.object({ rowsRead, bytesRead, elapsedMs, cache: cache.exclude(["hit"]), asOf });

export type ReadMeta = z.output<typeof readMeta>;

const searchResponse = z
  .object({
    data: z
      .array(z.record(z.string(), z.unknown()))
      .describe("Rows. Integers beyond 2^53 and decimals are text, so that no digit is lost"),
    rows: z.int().min(0).describe("Number of rows in data"),
    nextCursor: z
      .string()
      .optional()
      .describe("Names the next page; absent on the last one, and for requests with an offset or without a range"),
    meta: readMeta.extend({
      columns: z.array(z.object({ name: z.string(), type: z.string() })).describe("What each row has, in order"),
      warnings,
    }),
  })
  .meta({ id: "SearchRows" });

const querySources = {
  startTime: numberText(milliseconds).optional().describe("Start of the range in ms, inclusive"),
  endTime: numberText(endMilliseconds).optional().describe("End of the range in ms, inclusive"),
  metricDataType,
  wake: wakeMember,
};

const fieldsQuery = z.object(querySources).superRefine(checkRange) as unknown as z.ZodObject<typeof querySources>;

const valuesMembers = {
  ...querySources,
  field: text.min(1).describe("Column, path or SQL expression"),
  prefix: z.string().max(1000).default("").describe("Only values that begin with it, in upper or lower case"),
  ...filter,
  limit: numberText(z.int().min(1).max(1000)).default(20).describe("Most values to return"),
};
const valuesQuery = z.object(valuesMembers).superRefine(checkRange) as unknown as z.ZodObject<typeof valuesMembers>;

export type FieldsQuery = z.output<z.ZodObject<typeof querySources>>;
export type FieldValuesQuery = z.output<z.ZodObject<typeof valuesMembers>>;

const field = z
  .object({
    name: z.string().describe("As filters, groupBy and select take it"),
    type: z.string().describe("Type in the engine"),
    kind: z.enum(["column", "mapKey", "jsonPath"]),
  })
  .meta({ id: "SourceField" });

const fieldValue = z
  .object({
    value: z.string().describe("The value as text"),
    count: z.int().min(1).describe("Rows with it among those that were read"),
  })
  .meta({ id: "SourceFieldValue" });

const complete = z.boolean().describe("Whether all rows of the range were read, or a sample of them");

export type SourceField = z.output<typeof field>;
export type SourceFieldValue = z.output<typeof fieldValue>;
export type SearchResponse = z.output<typeof searchResponse>;

export const exploreOperations = {
  searchRows: operation({
    method: "POST",
    path: "/api/v2/search",
    tag: "Charts",
    summary: "Returns rows of a source, page by page",
    access: "read",
    readsOnly: true,
    body: searchRequest,
    result: searchResponse,
  }),
  listFields: operation({
    method: "GET",
    path: "/api/v2/sources/{id}/fields",
    tag: "Sources",
    summary: "Lists columns of a source, and keys of maps and paths of JSON from a sample of rows",
    access: "read",
    params: z.object({ id: sourceId }),
    query: fieldsQuery,
    result: z.object({ data: z.array(field), meta: readMeta.extend({ complete }) }),
  }),
  listFieldValues: operation({
    method: "GET",
    path: "/api/v2/sources/{id}/fieldValues",
    tag: "Sources",
    summary: "Lists the most frequent values of a field with their counts",
    access: "read",
    params: z.object({ id: sourceId }),
    query: valuesQuery,
    result: z.object({ data: z.array(fieldValue), meta: readMeta.extend({ complete }) }),
  }),
  suggestSources: operation({
    method: "GET",
    path: "/api/v2/sourceSuggestions",
    tag: "Sources",
    summary: "Suggests sources for tables with a time column, and for those of the OpenTelemetry layout",
    access: "read",
    query: z.object({ serviceId: uuid, wake: wakeMember }),
    result: z.object({
      data: z.array(sourceBody).describe("Bodies for createSource; tables that have a source are left out"),
      meta: readMeta,
    }),
  }),
};
