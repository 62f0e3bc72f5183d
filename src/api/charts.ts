/** Chart series (interface B): the request, the answer, and the operation, as data. */
import { z } from "zod";
import { operation } from "./operation.ts";

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

/** Ends before this are seconds, not milliseconds: it is 3 March 1973. */
const earliestEndMs = 100_000_000_000;
/** 2262-01-01, the end of what the engine's finest time type holds. */
const latestMs = 9_214_646_400_000;

const milliseconds = z
  .number({ error: "Timestamp must be an integer" })
  .int({ error: "Timestamp must be an integer" })
  .min(0, { error: "Timestamp must be positive" })
  .max(latestMs, { error: "Timestamp must be in milliseconds and before the year 2262" });

export const seriesItem = z.object({
  sourceId: z.string().min(1).max(100).describe("Id of the source to read"),
  aggFn: z.enum(aggregates),
  field: z.string().max(32_768).optional().describe("Column or SQL expression to aggregate; not needed for count"),
  level: z.number().min(0).max(1).optional().describe("Level of quantile; 0.5 when absent, required for histograms"),
  where: z.string().max(32_768).default("").describe("Filter; empty for all rows"),
  whereLanguage: z.enum(["lucene", "sql"]).default("lucene").describe("Language of where"),
  groupBy: z
    .array(z.string().min(1).max(32_768))
    .max(10)
    .default([])
    .describe("Columns, map or JSON paths, or SQL expressions; the same in all series"),
  metricName: z.string().min(1).max(1000).optional(),
  metricDataType: z.enum([...metricTypes, "summary", "exponential histogram"]).optional(),
});

export const seriesRequest = z
  .object({
    series: z
      .array(seriesItem)
      .min(1, { error: "Series array cannot be empty" })
      .max(5, { error: "At most 5 series are allowed" }),
    startTime: milliseconds.describe("Start of the range in ms, inclusive"),
    endTime: milliseconds
      .min(earliestEndMs, { error: "Timestamp must be in milliseconds" })
      .describe("End of the range in ms, inclusive"),
    granularity: z.enum(granularities).default("auto").describe("Size of a bucket"),
    seriesReturnType: z.enum(["ratio", "column"]).optional(),
    timezone: z.string().max(64).default("UTC").describe("IANA time zone to which buckets are aligned"),
    fill: z.enum(fills).default("none").describe("What to answer for buckets without rows"),
    limit: z.int().min(1).max(10_000).optional().describe("Most groups to return, those with the greatest values"),
    formula: z.string().max(1000).optional().describe("Arithmetic over series_0 to series_4, answered as formula.data"),
  })
  .superRefine((body, context) => {
    if (body.startTime > body.endTime) {
      context.addIssue({ code: "custom", path: ["endTime"], message: "endTime must not be before startTime" });
    }
    const first = JSON.stringify(body.series[0]?.groupBy);
    if (body.series.some((item) => JSON.stringify(item.groupBy) !== first)) {
      context.addIssue({
        code: "custom",
        path: ["series"],
        message: "All series must have the same groupBy fields",
      });
    }
    if (body.seriesReturnType === "ratio" && body.series.length !== 2) {
      context.addIssue({ code: "custom", path: ["series"], message: "A ratio needs exactly 2 series" });
    }
  });

export type SeriesItem = z.output<typeof seriesItem>;
export type SeriesRequest = z.output<typeof seriesRequest>;
export type Granularity = (typeof granularities)[number];
export type Aggregate = (typeof aggregates)[number];
export type Fill = (typeof fills)[number];

const value = z.union([z.number(), z.string(), z.boolean(), z.null()]);

export const seriesResponse = z.object({
  data: z
    .array(
      z
        .looseObject({
          ts_bucket: z.number().describe("Start of the bucket in ms"),
          group: z.array(z.unknown()).describe("Values of groupBy, in its order"),
          "series_0.data": value.optional(),
        })
        .describe("One row per bucket and group, with a member series_<index>.data per series"),
    )
    .describe("Sorted by bucket, then group"),
  truncated: z.boolean().optional().describe("With limit: whether groups were left out"),
});

export const chartOperations = {
  queryChartSeries: operation({
    method: "POST",
    path: "/api/v2/charts/series",
    tag: "Charts",
    summary: "Aggregates 1 to 5 series over a time range",
    access: "read",
    params: z.object({}),
    body: seriesRequest,
    result: seriesResponse,
  }),
};
