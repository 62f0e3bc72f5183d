/**
 * Members of chart sources, as the HyperDX API names them. Those that no query here reads are kept whole for the
 * programs that set them.
 */
import { z } from "zod";
import { aggregates, metricTypes } from "./charts.ts";
import { plainText, shownName, timestamp, uuid } from "./operation.ts";

/** `promql` is missing: nothing here answers that language. */
export const chartSourceKinds = ["log", "trace", "metric", "session", "table"] as const;

/** What `metricTables` may name. Tables of the other types than `metricTypes` are kept, and refused by queries. */
export const metricTableNames = [...metricTypes, "summary", "exponential histogram"] as const;

const expression = plainText(1, 4096);
const tableName = plainText(1, 206);
const otherSource = z.string().max(100).optional();
const text = z.string().max(4096);

type ObjectOf = <Shape extends z.ZodRawShape>(shape: Shape) => z.ZodObject<Shape, z.core.$loose>;

/** A rollup, with the kind of object that tells what happens to unknown members. */
export function rollupOf(objectOf: ObjectOf) {
  return objectOf({
    databaseName: tableName,
    tableName,
    timestampColumn: plainText(1, 200).describe("Column with the start of the rollup's buckets"),
    minGranularity: z
      .string()
      .regex(/^[1-9]\d{0,5}[smhd]$/, { error: "must be a number and s, m, h or d, such as 15s or 5m" })
      .describe("Size of a bucket of the rollup: a number of seconds, minutes, hours or days, such as 15s"),
    dimensionColumns: z
      .string()
      .max(4096)
      .default("")
      .describe("Comma-separated columns that are copied from the source's table"),
    minDate: timestamp.optional().describe("Time from which the rollup is complete"),
    aggregatedColumns: z
      .array(
        objectOf({
          aggFn: z
            .enum([...aggregates, "none"])
            .describe("Queries read count, sum, min and max; columns of the others are kept"),
          sourceColumn: plainText(0, 200).optional().describe("Column that is aggregated; absent for count"),
          mvColumn: plainText(1, 200).describe("Column of the rollup that holds the aggregate or its state"),
        }),
      )
      .min(1)
      .max(100),
  });
}

function metricTablesOf(objectOf: ObjectOf) {
  type Tables = Record<(typeof metricTableNames)[number], z.ZodOptional<typeof tableName>>;
  const tables = Object.fromEntries(metricTableNames.map((type) => [type, tableName.optional()])) as Tables;
  return objectOf(tables).refine((given) => metricTableNames.some((type) => given[type] !== undefined), {
    error: `must name a table for at least one of ${metricTableNames.join(", ")}`,
  });
}

/** What queries read. */
export function readMembersOf(objectOf: ObjectOf, rollup: ReturnType<typeof rollupOf>) {
  return {
    name: shownName(256),
    kind: z.enum(chartSourceKinds),
    serviceId: uuid.optional().describe("The service that holds the table"),
    connection: uuid.optional().describe("Alias of serviceId"),
    from: objectOf({ databaseName: tableName, tableName: z.string().max(206).default("") }),
    timestampValueExpression: expression
      .optional()
      .describe(
        "Time of a row: a column or SQL expression, or a comma-separated list of them. Default for metrics: TimeUnix",
      ),
    implicitColumnExpression: expression.optional().describe("Text that is searched for bare words of a filter"),
    defaultTableSelectExpression: text.optional(),
    bodyExpression: expression.optional(),
    serviceNameExpression: expression.optional(),
    severityTextExpression: expression.optional(),
    durationExpression: expression.optional(),
    resourceAttributesExpression: expression.optional(),
    eventAttributesExpression: expression.optional(),
    sampleRateExpression: expression.optional().describe("Number of rows that a sampled row represents"),
    section: z.string().max(256).optional(),
    disabled: z.boolean().optional(),
    metricTables: metricTablesOf(objectOf).optional(),
    materializedViews: z
      .array(rollup)
      .max(20)
      .optional()
      .describe("Rollups of the table; used when they give the same result"),
  };
}

const attribute = (objectOf: ObjectOf) =>
  z
    .array(
      objectOf({
        sqlExpression: text.min(1),
        luceneExpression: text.nullish(),
        alias: z.string().max(256).nullish(),
      }),
    )
    .max(100)
    .optional();

/** What other programs read: names of columns and of other sources, and how rows are shown. */
export function keptMembersOf(objectOf: ObjectOf) {
  const named = (names: string) => Object.fromEntries(names.split(" ").map((name) => [name, text.optional()]));
  return {
    ...named("displayedTimestampValueExpression knownColumnsListExpression orderByExpression tableFilterExpression"),
    ...named("serviceVersionExpression traceIdExpression spanIdExpression parentSpanIdExpression"),
    ...named("spanNameExpression spanKindExpression statusCodeExpression statusMessageExpression"),
    ...named("spanEventsValueExpression spanLinksValueExpression"),
    durationPrecision: z.int().min(0).max(9).optional().describe("Decimal digits of the duration after the second"),
    useTextIndexForImplicitColumn: z.enum(["auto", "enabled", "disabled"]).optional(),
    logSourceId: otherSource,
    traceSourceId: otherSource,
    metricSourceId: otherSource,
    sessionSourceId: otherSource,
    highlightedTraceAttributeExpressions: attribute(objectOf),
    highlightedRowAttributeExpressions: attribute(objectOf),
    metadataMaterializedViews: z.record(z.string(), z.unknown()).optional(),
    querySettings: z
      .array(objectOf({ setting: plainText(1, 200), value: z.string().max(1000) }))
      .max(10)
      .optional()
      .describe("Kept for other programs; queries of this server have settings of their own"),
  };
}
