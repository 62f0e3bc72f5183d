/** Metrics of services and pipes over time. An extension of the contract. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { operations, timestamp } from "./operation.ts";

/** Points of one response, at most: a week of minutes. */
export const maxPoints = 10_080;

const values = z.array(z.number().nullable());

function series<const T extends Record<string, string>>(described: T) {
  const shape = Object.entries(described).map(([name, text]) => [name, values.describe(text)]);
  return z.object(Object.fromEntries(shape) as { [N in keyof T]: typeof values });
}

const range = {
  from: timestamp.describe("Begin of the first step"),
  to: timestamp.describe("End of the last step"),
  stepSeconds: z.int(),
};

export const pipeMetricsRecord = z
  .object({
    ...range,
    series: series({
      rowsPerSecond: "Rows written to the destination",
      bytesPerSecond: "Bytes written to the destination, uncompressed",
      errorsPerSecond: "Rows and objects that could not be loaded",
      lagRows: "Messages at the source that are not yet loaded",
      lagBytes: "Bytes at the source that are not yet loaded",
      lagFiles: "Objects that are not yet loaded",
      lagSeconds: "How far the pipe is behind in time",
      latencySeconds: "Age of the newest data when it was loaded",
      workers: "Running worker processes",
    }),
  })
  .meta({ id: "PipeMetrics" });

export const serviceMetricsRecord = z
  .object({
    ...range,
    series: series({
      running: "Share of the step in which the service ran, 0 to 1",
      diskBytes: "Disk use of the service's tables",
      memoryBytes: "Memory tracked by the engine",
      connections: "Open connections to the engine",
      queriesPerSecond: "Queries, including those of pipes and charts",
      failedQueriesPerSecond: "Queries that ended with an error",
      querySeconds: "Mean duration of the queries that ended in the step",
      cpuCores: "Processor time of queries, merges and inserts, in seconds per second",
      selectedRowsPerSecond: "Rows read from tables",
      insertedRowsPerSecond: "Rows inserted into tables",
      insertedBytesPerSecond: "Bytes inserted into tables, uncompressed",
    }),
  })
  .meta({ id: "ServiceMetrics" });

const query = z.object({
  from: timestamp.optional().describe("Default: one hour before `to`"),
  to: timestamp.optional().describe("Default: now"),
  step: numberText(z.int().min(5).max(604_800).multipleOf(5))
    .optional()
    .describe(
      "Seconds of one point: 5 to 55 for the last hour, whole minutes for the last 7 days; default: what gives at most 720 points",
    ),
});

const root = "/v1/organizations/{organizationId}/services/{serviceId}";
const shared = { method: "GET", access: "read", query } as const;
const gaps = "each point is a mean of what is known, and null where nothing is; does not wake the service";

export const historyOperations = operations(shared, {
  getPipeMetrics: {
    path: `${root}/pipes/{pipeId}/metrics`,
    tag: "Pipes",
    summary: `Gets rates, lag and errors of a pipe over time: ${gaps}`,
    result: pipeMetricsRecord,
  },
  getServiceMetrics: {
    path: `${root}/metrics`,
    tag: "Services",
    summary: `Gets queries, memory and disk use of a service over time: ${gaps}`,
    result: serviceMetricsRecord,
  },
});
