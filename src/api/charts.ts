/** Chart series (observability API): the request, the response, and the operation, as data. */
import { z } from "zod";
import { nearMatches } from "../lib/near-matches.ts";
import { operation, timestamp } from "./operation.ts";

export const granularities = [
  "30s",
  "1m",
  "5m",
  "10m",
  "15m",
  "30m",
  "1h",
  "2h",
  "6h",
  "12h",
  "1d",
  "2d",
  "7d",
  "30d",
  "auto",
] as const;
export const aggregates = [
  "count",
  "count_distinct",
  "sum",
  "avg",
  "min",
  "max",
  "quantile",
  "last_value",
  "any",
  "increase",
] as const;
export const fills = ["none", "null", "zero", "previous"] as const;
export const metricTypes = ["gauge", "sum", "histogram"] as const;

/** Smaller ends are seconds, not milliseconds: it is 3 March 1973. */
const earliestEndMs = 100_000_000_000;
/** 2262-01-01, the maximum of the engine's finest time type. */
const latestMs = 9_214_646_400_000;

export const milliseconds = z
  .number({ error: "Timestamp must be an integer" })
  .int({ error: "Timestamp must be an integer" })
  .min(0, { error: "Timestamp must be positive" })
  .max(latestMs, { error: "Timestamp must be in milliseconds and before the year 2262" });

export const endMilliseconds = milliseconds.min(earliestEndMs, { error: "Timestamp must be in milliseconds" });

/**
 * Refuses a member that looks like a misspelt one; others that are not known are let through, because clients of the
 * public relative send some, and are named in the answer's warnings.
 */
export function refuseMisspelt(body: object, shape: object, context: z.RefinementCtx): void {
  for (const name of unknownMembers(body, shape)) {
    const [near] = nearMatches(name, Object.keys(shape));
    if (near === undefined) continue;
    context.addIssue({ code: "custom", path: [name], message: `is not a known member; did you mean ${near}?` });
  }
}

function unknownMembers(body: object, shape: object): string[] {
  return Object.keys(body).filter((name) => !Object.hasOwn(shape, name));
}

const itemMembers = {
  sourceId: z.string().min(1).max(100).describe("Id of the source to read"),
  aggFn: z.enum(aggregates),
  field: z.string().max(32_768).optional().describe("Column or SQL expression to aggregate; not needed for count"),
  level: z.number().min(0).max(1).optional().describe("Level of `quantile`, default 0.5; required for histograms"),
  where: z.string().max(32_768).default("").describe("Filter; empty selects all rows"),
  whereLanguage: z.enum(["lucene", "sql"]).default("lucene").describe("Language of where"),
  filters: z
    .array(z.strictObject({ type: z.enum(["lucene", "sql"]), condition: z.string().max(10_000) }))
    .max(100)
    .optional()
    .describe("Filters that a row must fulfil beside where, each in its own language"),
  groupBy: z
    .array(z.string().min(1).max(32_768))
    .max(10)
    .default([])
    .describe("Columns, map or JSON paths, or SQL expressions; the same in all series"),
  metricName: z.string().min(1).max(1000).optional(),
  metricDataType: z.enum([...metricTypes, "summary", "exponential histogram"]).optional(),
};

export const seriesItem = z
  .looseObject(itemMembers)
  .superRefine((item, context) => refuseMisspelt(item, itemMembers, context))
  .meta({ id: "SeriesItem" });

export const wakes = ["auto", "never"] as const;
export type WakeMode = (typeof wakes)[number];

/** Member of every read of a source. */
export const wakeMember = z
  .enum(wakes)
  .default("auto")
  .describe(
    "never: neither wakes the service nor keeps it awake; while it does not run, the last answer to the same request, or 409 (SERVICE_ASLEEP)",
  );

const requestMembers = {
  series: z
    .array(seriesItem)
    .min(1, { error: "Series array cannot be empty" })
    .max(5, { error: "At most 5 series are allowed" }),
  startTime: milliseconds.describe("Start of the range in ms, inclusive"),
  endTime: endMilliseconds.describe("End of the range in ms, inclusive"),
  granularity: z.enum(granularities).default("auto").describe("Size of a bucket"),
  seriesReturnType: z.enum(["ratio", "column"]).optional(),
  timezone: z.string().max(64).default("UTC").describe("IANA time zone to which buckets are aligned"),
  fill: z.enum(fills).default("none").describe("What to answer for buckets without rows"),
  limit: z.int().min(1).max(10_000).optional().describe("Most groups to return, those with the greatest values"),
  formula: z.string().max(1000).optional().describe("Arithmetic over series_0 to series_4, answered as formula.data"),
  wake: wakeMember,
};

const queryMembers = {
  ...requestMembers,
  granularity: z
    .enum([...granularities, "none"])
    .default("auto")
    .describe("Size of a bucket; none for one row per group over the whole range"),
  orderBy: z
    .string()
    .regex(/^(series_[0-4]|group)$/, { error: "must be series_0 to series_4, or group" })
    .optional()
    .describe("With granularity none: what rows are sorted by, and which groups a limit keeps"),
  order: z.enum(["asc", "desc"]).optional().describe("Direction of orderBy; desc when absent, of group asc"),
  others: z.boolean().optional().describe("With limit: one row for all the groups that it leaves out"),
};

const ownMembers = ["orderBy", "order", "others"];

/** Problems between members. Members that are wrong by themselves are skipped: they have an issue already. */
function checkRequest(body: ChartRequest, context: z.RefinementCtx): void {
  const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  const { series = [], startTime, endTime } = body;
  if (endTime >= earliestEndMs && endTime <= latestMs && startTime > endTime) {
    fail("endTime", "endTime must not be before startTime");
  }
  const first = JSON.stringify(series[0]?.groupBy);
  if (series.some((item) => JSON.stringify(item.groupBy) !== first)) {
    fail("series", "All series must have the same groupBy fields");
  }
  if (body.seriesReturnType === "ratio" && series.length > 0 && series.length !== 2) {
    fail("series", "A ratio needs exactly 2 series");
  }
}

const additive = ["count", "sum", "min", "max", "increase"];

/** What the members of our own endpoint need. */
function checkQuery(body: ChartRequest, context: z.RefinementCtx): void {
  const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  if (body.orderBy === undefined && body.order !== undefined) fail("order", "needs orderBy");
  if (body.orderBy !== undefined && body.granularity !== "none") {
    fail("orderBy", "needs granularity none; rows of buckets are sorted by bucket, then group");
  }
  const index = Number(/^series_(\d)$/.exec(body.orderBy ?? "")?.[1] ?? 0);
  if (index >= Math.max(body.series.length, 1)) fail("orderBy", `the request has no ${body.orderBy}`);
  if (body.others !== true) return;
  if (body.limit === undefined) fail("others", "needs a limit");
  if (body.seriesReturnType === "ratio" || body.formula !== undefined) {
    fail("others", "is not available with a ratio or a formula");
  }
  const other = body.series.find(({ aggFn }) => !additive.includes(aggFn));
  if (other !== undefined) fail("others", `cannot be made of ${other.aggFn}, only of ${additive.join(", ")}`);
}

export const seriesRequest = z
  .looseObject(requestMembers)
  .superRefine((body, context) => {
    refuseMisspelt(body, requestMembers, context);
    for (const name of ownMembers) {
      if (Object.hasOwn(body, name)) {
        context.addIssue({ code: "custom", path: [name], message: "is a member of POST /api/v2/charts/query" });
      }
    }
    checkRequest(body, context);
  })
  .meta({ id: "ChartSeriesRequest" });

export const chartQuery = z
  .looseObject(queryMembers)
  .superRefine((body, context) => {
    refuseMisspelt(body, queryMembers, context);
    checkRequest(body, context);
    checkQuery(body, context);
  })
  .meta({ id: "ChartQueryRequest" });

/** The paths of unknown members. */
export function unknownMembersOf(request: ChartRequest): string[] {
  const ofItems = request.series.flatMap((item, i) =>
    unknownMembers(item, itemMembers).map((name) => `series.${i}.${name}`),
  );
  return [...unknownMembers(request, queryMembers), ...ofItems];
}

export type SeriesItem = z.output<typeof seriesItem>;
export type SeriesRequest = z.output<typeof seriesRequest>;
/** What the charts room answers: a request of the contract, or one of our own endpoint. */
export type ChartRequest = z.output<z.ZodObject<typeof queryMembers>>;
export type Granularity = (typeof granularities)[number];
export type Fill = (typeof fills)[number];

const value = z.union([z.number(), z.string(), z.boolean(), z.null()]);

export const seriesResponse = z
  .object({
    data: z
      .array(
        z
          .looseObject({
            ts_bucket: z.number().describe("Start of the bucket in ms"),
            group: z.array(z.unknown()).describe("Values of groupBy, in the same order"),
            "series_0.data": value.optional(),
          })
          .describe("One row per bucket and group, with one member series_<index>.data for each series"),
      )
      .describe("Rows, sorted by bucket, then by group"),
    truncated: z.boolean().optional().describe("With limit: whether groups were omitted"),
    otherGroups: z.int().optional().describe("With others: how many groups the limit omitted"),
  })
  .meta({ id: "ChartSeries" });

const count = z.int().min(0);

export const chartMeta = z
  .object({
    bucketMs: count.describe("Width of a bucket in ms; of granularity none, of the range"),
    firstBucketPartial: z.boolean().describe("Whether the range begins inside of the first bucket"),
    lastBucketPartial: z.boolean().describe("Whether the range ends inside of the last bucket"),
    rowsRead: count.nullable().describe("Rows that the engine read; null where it does not tell"),
    bytesRead: count.nullable(),
    elapsedMs: z.number().describe("Time from the request to the last row, in ms"),
    cache: z
      .enum(["hit", "miss", "stale"])
      .describe("hit: kept, and no row has changed since; stale: kept from before, and the service does not run"),
    asOf: timestamp.describe("Rows that were inserted after this time may be missing"),
    rollups: z.array(z.string()).describe("Rollups that were read instead of the table"),
    warnings: z.array(z.string()).describe("What may not be meant as it was understood"),
  })
  .meta({ id: "ChartMeta" });

export type ChartMeta = z.output<typeof chartMeta>;

export const chartOperations = {
  queryChartSeries: operation({
    method: "POST",
    readsOnly: true,
    path: "/api/v2/charts/series",
    tag: "Charts",
    summary: "Returns 1 to 5 aggregated series over a time range",
    access: "read",
    body: seriesRequest,
    result: seriesResponse,
  }),
  queryChart: operation({
    method: "POST",
    readsOnly: true,
    path: "/api/v2/charts/query",
    tag: "Charts",
    summary: "The same with what is known of the answer, and with tables and numbers without buckets",
    access: "read",
    body: chartQuery,
    result: seriesResponse.extend({ meta: chartMeta }),
  }),
};
