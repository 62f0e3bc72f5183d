/** Statements that callers of the management API run in a service. An extension of the contract. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { operation, plainText, timestamp, uuid } from "./operation.ts";

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Settings that a caller may choose; a statement may name more in its own SETTINGS clause. */
export const querySettings = z.strictObject({
  max_execution_time: z.number().min(0).max(86_400).optional().describe("Seconds after which the query ends; 0: none"),
  timeout_overflow_mode: z.enum(["throw", "break"]).optional(),
  max_result_rows: count.optional(),
  max_result_bytes: count.optional(),
  result_overflow_mode: z
    .enum(["throw", "break"])
    .optional()
    .describe("What to do at max_result_rows and max_result_bytes: refuse the result, or return its beginning"),
  max_rows_to_read: count.optional(),
  max_memory_usage: count.optional().describe("Bytes of memory; more than the service's own limit has no effect"),
  max_threads: z.int().min(1).max(1024).optional(),
  max_block_size: z.int().min(1).max(10_000_000).optional(),
  interactive_delay: z
    .int()
    .min(10_000)
    .max(60_000_000)
    .optional()
    .describe("Microseconds between reports of progress"),
  session_timezone: z.string().max(64).optional(),
  use_query_cache: z.boolean().optional(),
  date_time_output_format: z.enum(["simple", "iso", "unix_timestamp"]).optional(),
  output_format_json_quote_64bit_integers: z.boolean().optional(),
  output_format_json_quote_decimals: z.boolean().optional(),
  output_format_json_quote_denormals: z.boolean().optional(),
  log_comment: plainText(0, 1000).optional(),
});

const parameter = z.union([z.string().max(262_144), z.number(), z.boolean(), z.null()]);

const queryBody = z.strictObject({
  query: z.string().min(1).max(1_048_576).describe("One statement, with `{name:Type}` for parameters"),
  params: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, { error: "must be a name" }), parameter)
    .refine((params) => Object.keys(params).length <= 200, { error: "must have at most 200 members" })
    .optional()
    .describe("Values of the parameters, as text in the form that the type is written in; null is NULL"),
  database: plainText(1, 200).optional().describe("Database of names without one; default: `default`"),
  settings: querySettings.optional(),
  format: z
    .string()
    .regex(/^[A-Za-z0-9]{1,64}$/, { error: "must be the name of a format" })
    .default("JSONEachRowWithProgress")
    .describe("Format of the result, unless the statement has a FORMAT clause"),
  wake: z
    .enum(["auto", "never"])
    .default("auto")
    .describe("never: answers 409 (SERVICE_ASLEEP) if the service does not run, and does not keep it awake if it does"),
  readonly: z
    .boolean()
    .default(false)
    .describe("Runs as a read-only user; this is always so for a key with the role read_only"),
  queryId: z
    .string()
    .regex(/^[A-Za-z0-9_.:-]{1,100}$/, { error: "must be 1 to 100 characters of A-Z, a-z, 0-9, _ . : -" })
    .optional()
    .describe("Id of the query, which no running query has; default: a new UUID"),
});

export type QueryBody = z.output<typeof queryBody>;

export const queryRecord = z
  .object({
    queryId: z.string(),
    state: z.enum(["running", "finished", "failed"]),
    user: z
      .string()
      .describe(
        "`millrace-writer` and `millrace-reader` stand for users of this API and for users without a name of their own in the engine",
      ),
    address: z.string().describe("Address of the client"),
    userAgent: z.string().describe("As the client says; `millrace-api/<key id>` for statements through this API"),
    kind: z.string().describe("`Select`, `Insert`, `Create` ..."),
    hash: z.string().describe("Equal for statements that differ in literals only"),
    query: z.string().describe("The statement without secrets; cut off after 8,000 characters"),
    database: z.string(),
    startedAt: timestamp,
    durationMs: z.number(),
    readRows: z.int(),
    readBytes: z.int(),
    totalRows: z.int().optional().describe("Rows that a running query is expected to read, if known"),
    writtenRows: z.int(),
    writtenBytes: z.int(),
    resultRows: z.int(),
    resultBytes: z.int(),
    memoryBytes: z.int().describe("Greatest memory; of a running query, the present memory"),
    error: z.object({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: "QueryRecord" });

const service = z.object({ organizationId: uuid, serviceId: uuid });
const root = "/v1/organizations/{organizationId}/services/{serviceId}";

export const queryOperations = {
  listQueries: operation({
    method: "GET",
    path: `${root}/queries`,
    tag: "Queries",
    summary: "Lists running and recent queries of a service's clients; neither wakes the service nor keeps it awake",
    access: "developer",
    query: z.object({
      limit: numberText(z.int().min(1).max(1_000)).default(100).describe("Maximum number of recent queries"),
      cursor: z.string().max(500).optional().describe("The `cursor` of the previous page"),
      failed: z.enum(["true", "false"]).default("false").describe("true: only recent queries that failed"),
    }),
    result: z.object({
      asOf: timestamp.optional().describe("When this was read from the engine; absent if nothing is known"),
      live: z.boolean().describe("False: the service does not run, and these are the newest 1,000 queries before that"),
      running: z.array(queryRecord).describe("Longest first; empty on later pages"),
      recent: z.array(queryRecord).describe("Newest first"),
      cursor: z.string().optional().describe("Present if there are older queries"),
    }),
  }),
  cancelQuery: operation({
    method: "DELETE",
    path: `${root}/queries/{queryId}`,
    tag: "Queries",
    summary: "Ends a running query of a client",
    access: "developer",
    params: service.extend({ queryId: z.string().min(1).max(250) }),
  }),
  runQuery: operation({
    method: "POST",
    path: `${root}/query`,
    readsOnly: true,
    tag: "Queries",
    summary: "Runs a statement in a service with the rights of the caller's role, and streams its result",
    access: "read",
    body: queryBody,
    streams: "The result in the requested format. The header `X-ClickHouse-Query-Id` has the id of the query",
  }),
};
