/**
 * Sources of charts (observability API): which table a series reads and how. The terms are those of the HyperDX API.
 */
import { z } from "zod";
import { metricTypes, refuseMisspelt } from "./charts.ts";
import { operation, plainText, timestamp, uuid, version } from "./operation.ts";

export const chartSourceKinds = ["log", "trace", "metric", "table"] as const;

const expression = plainText(1, 4096);
const tableName = plainText(1, 206);

/** Members of other clients are kept and shown; one that looks like a misspelt member is refused. */
function keeping<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape).superRefine((body, context) => refuseMisspelt(body, shape, context));
}

export const rollup = keeping({
  databaseName: tableName,
  tableName,
  timestampColumn: plainText(1, 200).describe("Column with the start of the rollup's buckets"),
  minGranularity: z.enum(["1s", "30s", "1m", "5m", "10m", "15m", "30m", "1h", "2h", "6h", "12h", "1d"]),
  dimensionColumns: z
    .string()
    .max(4096)
    .default("")
    .describe("Comma-separated columns that are copied from the source's table"),
  minDate: timestamp.optional().describe("Time from which the rollup is complete"),
  aggregatedColumns: z
    .array(
      keeping({
        aggFn: z.enum(["count", "sum", "min", "max", "avg", "count_distinct"]),
        sourceColumn: plainText(1, 200).optional().describe("Column that is aggregated; absent for count"),
        mvColumn: plainText(1, 200).describe("Column of the rollup that holds the aggregate or its state"),
      }),
    )
    .min(1)
    .max(100),
}).meta({ id: "Rollup" });

const metricTables = keeping(
  Object.fromEntries(metricTypes.map((type) => [type, tableName.optional()])) as MetricTablesShape,
).refine((tables) => metricTypes.some((type) => tables[type] !== undefined), {
  error: "must name a table for at least one of gauge, sum and histogram",
});
type MetricTablesShape = Record<(typeof metricTypes)[number], z.ZodOptional<typeof tableName>>;

const members = {
  name: plainText(1, 256),
  kind: z.enum(chartSourceKinds),
  serviceId: uuid.optional().describe("The service that holds the table"),
  connection: uuid.optional().describe("Alias of serviceId"),
  from: keeping({ databaseName: tableName, tableName: z.string().max(206).default("") }),
  timestampValueExpression: expression
    .optional()
    .describe(
      "Time of a row: a column or SQL expression, or a comma-separated list of them. Default for metrics: TimeUnix",
    ),
  implicitColumnExpression: expression.optional().describe("Text that is searched for bare words of a filter"),
  defaultTableSelectExpression: z.string().max(4096).optional(),
  bodyExpression: expression.optional(),
  serviceNameExpression: expression.optional(),
  severityTextExpression: expression.optional(),
  durationExpression: expression.optional(),
  resourceAttributesExpression: expression.optional(),
  eventAttributesExpression: expression.optional(),
  sampleRateExpression: expression.optional().describe("Number of rows that a sampled row represents"),
  section: z.string().max(256).optional(),
  disabled: z.boolean().optional(),
  metricTables: metricTables.optional(),
  materializedViews: z
    .array(rollup)
    .max(20)
    .optional()
    .describe("Rollups of the table; used when they give the same result"),
};

export const sourceBody = keeping(members)
  .superRefine((body, context) => {
    const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if (body.serviceId === undefined && body.connection === undefined) fail("serviceId", "is required");
    if (body.serviceId !== undefined && body.connection !== undefined && body.serviceId !== body.connection) {
      fail("connection", "must be equal to serviceId");
    }
    if (body.kind === "metric") {
      if (body.metricTables === undefined) fail("metricTables", "is required for metric sources");
    } else {
      if (body.from.tableName === "") fail("from.tableName", "is required");
      if (body.timestampValueExpression === undefined) fail("timestampValueExpression", "is required");
    }
  })
  .meta({ id: "SourceRequest" });

export const sourceRecord = z
  .looseObject({
    id: uuid,
    ...members,
    serviceId: uuid,
    connection: uuid,
    version,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Source" });

export type SourceBody = z.output<typeof sourceBody>;
export type SourceRecord = z.output<typeof sourceRecord>;
export type Rollup = z.output<typeof rollup>;

const source = z.object({ id: z.string().min(1).max(100) });
const shared = { tag: "Sources" } as const;

export const chartSourceOperations = {
  listSources: operation({
    ...shared,
    method: "GET",
    storedOnly: true,
    path: "/api/v2/sources",
    summary: "Lists chart sources",
    access: "read",
    params: z.object({}),
    result: z.object({ data: z.array(sourceRecord) }),
  }),
  createSource: operation({
    ...shared,
    method: "POST",
    path: "/api/v2/sources",
    summary: "Creates a chart source",
    access: "developer",
    params: z.object({}),
    body: sourceBody,
    result: z.object({ data: sourceRecord }),
  }),
  getSource: operation({
    ...shared,
    method: "GET",
    storedOnly: true,
    path: "/api/v2/sources/{id}",
    summary: "Gets a chart source",
    access: "read",
    params: source,
    result: z.object({ data: sourceRecord }),
  }),
  replaceSource: operation({
    ...shared,
    method: "PUT",
    versioned: true,
    path: "/api/v2/sources/{id}",
    summary: "Replaces a chart source",
    access: "developer",
    params: source,
    body: sourceBody,
    result: z.object({ data: sourceRecord }),
  }),
  deleteSource: operation({
    ...shared,
    method: "DELETE",
    versioned: true,
    path: "/api/v2/sources/{id}",
    summary: "Deletes a chart source",
    access: "developer",
    params: source,
    result: z.object({}),
  }),
};
