/** What is looked at before a pipe is created or its source changed: the destination table, then the source itself. */
import { ClickHouseClient, ClickHouseError } from "../clickhouse/client.ts";
import { AppError, type Issue } from "../lib/errors.ts";
import { type SourceKindKey, sourceKinds } from "../sources/registry.ts";
import type { Connector, JsonObject, SourceKind } from "../sources/source.ts";
import type { Pipe, PipeDestination } from "../store/pipes.ts";
import { type Mapping, mappingIssues } from "./definition.ts";
import { destinationTable, existingColumns } from "./destination.ts";

const checkTimeoutMs = 10_000;

export type PreflightAccess = (
  serviceId: string,
  signal: AbortSignal,
) => Promise<{ socketPath: string; release(): void }>;

export type Preflight = {
  readonly serviceId: string;
  readonly kind: SourceKindKey;
  readonly config: JsonObject;
  readonly destination: PipeDestination;
  readonly fieldMappings: readonly Mapping[];
  readonly validateSamples: boolean;
};

/**
 * Throws what is wrong; changes nothing. Returns the destination as it will be used: for an existing table, with its
 * columns filled in where none were given.
 */
export async function preflight(
  pipe: Preflight,
  acquire: PreflightAccess,
  signal: AbortSignal,
): Promise<PipeDestination> {
  const connector = await connectorOf(pipe.kind);
  const lease = await acquire(pipe.serviceId, signal);
  const client = new ClickHouseClient({ socketPath: lease.socketPath });
  const limit = AbortSignal.timeout(checkTimeoutMs);
  const query = (sql: string, params?: Readonly<Record<string, string>>) =>
    client.rows(sql, { signal: limit, ...(params === undefined ? {} : { params }) });
  try {
    const destination = await checkDestination(pipe, query);
    const table = destinationTable({ destination, fieldMappings: [...pipe.fieldMappings] } as Pick<
      Pipe,
      "destination" | "fieldMappings"
    >);
    const options = { validateSamples: pipe.validateSamples, destination: table, query };
    await connector.check(pipe.config as never, options, limit);
    return destination;
  } catch (error) {
    if (limit.aborted)
      throw new AppError("SOURCE_UNREACHABLE", "The source did not answer within 10 s.", { cause: error });
    if (error instanceof ClickHouseError) throw new AppError("DESTINATION_INVALID", error.message, { cause: error });
    throw error;
  } finally {
    client.close();
    lease.release();
  }
}

export async function connectorOf(kind: SourceKindKey): Promise<Connector<never>> {
  const declared: SourceKind = sourceKinds[kind];
  if (declared.connect === undefined) {
    const message = `This version cannot run ${kind} pipes yet.`;
    throw new AppError("SOURCE_INVALID", message, { issues: [{ path: `source.${kind}`, message }] });
  }
  return await declared.connect();
}

type Query = (sql: string, params?: Readonly<Record<string, string>>) => Promise<Record<string, unknown>[]>;

async function checkDestination(pipe: Preflight, query: Query): Promise<PipeDestination> {
  const { destination } = pipe;
  const { database = "default", table = "" } = destination;
  if (pipe.kind === "relationalDb") return destination;
  const existing = await existingColumns(database, table, query);
  if (destination.managedTable !== false) {
    if (existing === undefined) return destination;
    throw invalid(
      "destination.table",
      `${database}.${table} exists already; set managedTable to false to load into it`,
    );
  }
  if (existing === undefined) throw invalid("destination.table", `${database}.${table} does not exist`);
  if (destination.columns === undefined || destination.columns.length === 0) {
    const issues = mappingIssues(existing, pipe.fieldMappings);
    if (issues.length > 0) throw invalidAll(issues);
    return { ...destination, columns: existing };
  }
  const names = new Set(existing.map((column) => column.name));
  const unknown = destination.columns.filter((column) => !names.has(column.name)).map((column) => column.name);
  if (unknown.length === 0) return destination;
  throw invalid("destination.columns", `${database}.${table} has no column ${unknown.join(", ")}`);
}

function invalid(path: string, message: string): AppError {
  return invalidAll([{ path, message }]);
}

function invalidAll(issues: readonly Issue[]): AppError {
  const text = issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
  return new AppError("DESTINATION_INVALID", text, { issues });
}
