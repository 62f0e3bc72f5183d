/** Tiles of dashboards, in the form of the HyperDX API: where a tile is, and what it shows. */
import { z } from "zod";
import { metricTableNames } from "./chart-source-members.ts";
import { aggregates } from "./charts.ts";
import { knownObject, plainText } from "./operation.ts";
import { sourceId, whereLanguage } from "./saved-searches.ts";

const text = z.string().max(10_000);
const aggFn = z.enum([...aggregates, "none"]);
const flag = z.boolean().optional();
const number = z.number().optional();
/** Members of the way a chart looks, which nothing here interprets. */
const look = z.record(z.string(), z.unknown());
const id = z.string().min(1).max(256);

const numberFormat = knownObject({
  output: z.string().max(50).optional(),
  ...{ mantissa: number, factor: number, average: flag, thousandSeparated: flag, decimalBytes: flag },
  ...{ currencySymbol: z.string().max(50).optional(), unit: z.string().max(50).optional() },
  numericUnit: z.string().max(50).optional(),
}).optional();

/** One value of a chart. */
const selectItem = knownObject({
  valueExpression: text.optional().describe("What is aggregated; not for count"),
  alias: text.optional(),
  aggFn,
  level: z.number().min(0).max(1).optional().describe("Level of quantile"),
  where: text.optional(),
  whereLanguage: whereLanguage.optional(),
  numberFormat,
  metricType: z.enum(metricTableNames).optional(),
  metricName: z.string().max(1000).optional(),
  periodAggFn: z.enum(["delta"]).optional(),
}).superRefine((item, context) => {
  const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  if (item.level !== undefined && item.aggFn !== "quantile") fail("level", "is for quantile only");
  if (item.aggFn === "count" && item.valueExpression) fail("valueExpression", "is not for count");
  const needsValue = item.aggFn !== "count" && item.metricName === undefined;
  if (needsValue && !item.valueExpression) fail("valueExpression", `is required for ${item.aggFn}`);
});

const items = z.array(selectItem).min(1).max(20);
/** Clients of the HyperDX API send it, and it has no effect there either. */
const unused = z.unknown().optional().describe("Has no effect: each item of select has its own");
const several = { select: items, where: unused, whereLanguage: unused };
const formulas = z.array(look).max(10).optional();
const grouped = { groupBy: text.optional(), asRatio: flag, numberFormat, formulas, showOperandSeries: flag };
const limits = { seriesLimit: z.int().min(0).optional() };
const time = { sourceId, ...several, ...grouped, alignDateRangeToGranularity: flag, fillNulls: flag };
const line = { compareToPreviousPeriod: flag, fitYAxisToData: flag, ...limits };
const colors = { color: z.string().max(50).optional(), colorRules: z.array(look).max(10).optional() };
const oneValue = {
  sourceId,
  ...several,
  select: items.max(1),
  groupBy: text.optional(),
  orderBy: text.optional(),
  numberFormat,
};
const filter = { where: text.optional(), whereLanguage: whereLanguage.optional() };

const built = z.discriminatedUnion("displayType", [
  knownObject({ displayType: z.literal("line"), ...time, ...line }),
  knownObject({ displayType: z.literal("stacked_bar"), ...time, ...limits }),
  knownObject({
    ...{ displayType: z.literal("table"), sourceId, ...several, ...grouped, having: text.optional() },
    ...{ orderBy: text.optional(), groupByColumnsOnLeft: flag, onClick: look.optional() },
  }),
  knownObject({
    ...{ displayType: z.literal("number"), sourceId, ...several, numberFormat, formulas, ...colors },
    backgroundChart: look.optional(),
  }),
  knownObject({ displayType: z.literal("pie"), ...oneValue, limit: z.int().min(0).optional() }),
  knownObject({ displayType: z.literal("bar"), ...oneValue, limit: z.int().min(0).optional() }),
  knownObject({
    ...{ displayType: z.literal("heatmap"), sourceId, ...filter, numberFormat },
    select: z
      .array(
        knownObject({
          ...{ valueExpression: text.min(1), countExpression: text.optional() },
          heatmapScaleType: z.enum(["log", "linear"]).optional(),
        }),
      )
      .length(1),
  }),
  knownObject({ displayType: z.literal("search"), sourceId, select: text, ...filter }),
  knownObject({ displayType: z.literal("event_patterns"), sourceId, select: text.optional(), ...filter }),
  knownObject({ displayType: z.literal("markdown"), markdown: z.string().max(50_000).optional() }),
]);

const sql = {
  configType: z.literal("sql"),
  connectionId: plainText(1, 100),
  sqlTemplate: z.string().max(100_000),
  sourceId: sourceId.optional(),
  numberFormat,
};
const gaps = { fillNulls: flag, alignDateRangeToGranularity: flag };

const written = z.discriminatedUnion("displayType", [
  knownObject({ displayType: z.literal("line"), ...sql, ...gaps, ...line }),
  knownObject({ displayType: z.literal("stacked_bar"), ...sql, ...gaps, ...limits }),
  knownObject({ displayType: z.literal("table"), ...sql, onClick: look.optional() }),
  knownObject({ displayType: z.literal("number"), ...sql, ...colors }),
  knownObject({ displayType: z.literal("pie"), ...sql }),
  knownObject({ displayType: z.literal("bar"), ...sql }),
]);

/** The issues of a union of both would be those of the wrong one. */
const config = z
  .looseObject({ displayType: z.string(), configType: z.string().optional() })
  .superRefine((given, context) => {
    if (given.configType !== undefined && given.configType !== "sql") {
      context.addIssue({ code: "custom", path: ["configType"], message: "must be sql, or absent" });
      return;
    }
    const parsed = (given.configType === "sql" ? written : built).safeParse(given);
    for (const issue of parsed.error?.issues ?? []) context.addIssue({ ...issue } as z.core.$ZodRawIssue);
    if (given.asRatio === true && (given.select as unknown[] | undefined)?.length !== 2) {
      context.addIssue({ code: "custom", path: ["asRatio"], message: "needs exactly 2 items in select" });
    }
  })
  .describe("What a tile shows: a chart of a source, or, with configType sql, of a statement");

const chart = {
  ...{ sourceId, aggFn, level: z.number().min(0).max(1).optional(), field: text.optional(), alias: text.optional() },
  ...{ where: text, whereLanguage: whereLanguage.optional(), numberFormat },
  ...{ metricDataType: z.enum(metricTableNames).optional(), metricName: z.string().max(1000).optional() },
};
const groupBy = z.array(text).max(10);

const series = z.discriminatedUnion("type", [
  knownObject({
    ...{ type: z.literal("time"), ...chart, groupBy },
    displayType: z.enum(["stacked_bar", "line"]).optional(),
  }),
  knownObject({ type: z.literal("table"), ...chart, groupBy, sortOrder: z.enum(["asc", "desc"]).optional() }),
  knownObject({ type: z.literal("number"), ...chart }),
  knownObject({
    ...{ type: z.literal("search"), sourceId, fields: z.array(text), where: text },
    whereLanguage: whereLanguage.optional(),
  }),
  knownObject({ type: z.literal("markdown"), content: z.string().max(100_000) }),
]);

export const tile = knownObject({
  id: z.string().min(1).max(36).optional().describe("Kept; one without gets a new one"),
  name: z.string().max(1024),
  x: z.number().min(0).max(23),
  y: z.number().min(0),
  w: z.number().min(1).max(24),
  h: z.number().min(1),
  config: config.optional(),
  asRatio: flag.describe("With series: whether the first is divided by the second"),
  series: z.array(series).min(1).optional().describe("The former form of config"),
  containerId: id.optional(),
  tabId: id.optional(),
})
  .superRefine((given, context) => {
    const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if ((given.series === undefined) === (given.config === undefined)) fail("config", "is required, or else series");
    if (given.asRatio !== undefined && given.config !== undefined) fail("asRatio", "is a member of config");
    if (given.series?.some(({ type }) => type !== given.series?.[0]?.type)) fail("series", "must have one type");
    if (given.tabId !== undefined && given.containerId === undefined) fail("containerId", "is required with tabId");
  })
  .meta({ id: "DashboardTile" });

export type DashboardTile = z.output<typeof tile>;
