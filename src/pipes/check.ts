/** The checks of a new or changed pipe that ask its source and its service, within a bounded time. */
import { ClickHouseClient, ClickHouseError } from "../clickhouse/client.ts";
import { abortable } from "../lib/abort.ts";
import { AppError, type Issue } from "../lib/errors.ts";
import type {
  Connector,
  DestinationTable,
  FoundField,
  JsonObject,
  NetworkContext,
  Query,
  SourceKind,
} from "../sources/source.ts";
import { failureOf, sentenceOf } from "./failures.ts";
import type { AcquireService } from "./replica.ts";
import { findTable, type TableFacts } from "./tables.ts";

const checkTimeoutMs = 10_000;

export type CheckRequest = {
  readonly network: NetworkContext;
  readonly serviceId: string;
  readonly kind: SourceKind;
  /** Undefined: the source has not changed. */
  readonly config: JsonObject | undefined;
  readonly table: DestinationTable;
  /** Undefined: the destination has not changed. */
  readonly managedTable: boolean | undefined;
  readonly validateSamples: boolean;
};

/** Throws SOURCE_* or DESTINATION_INVALID with what is wrong. */
export async function checkReachable(
  request: CheckRequest,
  acquire: AcquireService,
  requestSignal: AbortSignal,
): Promise<void> {
  await withService(request.serviceId, acquire, requestSignal, async (client, signal) => {
    await checkDestination(client, request);
    await checkSource(client, request, signal);
  });
}

/** Fields and types that samples of the source have, as the service's engine infers them. Throws SOURCE_*. */
export async function discoverFields(
  request: Pick<CheckRequest, "network" | "serviceId" | "kind"> & { readonly config: JsonObject },
  acquire: AcquireService,
  requestSignal: AbortSignal,
): Promise<readonly FoundField[]> {
  const { network, serviceId, kind, config } = request;
  const connector = (await kind.connect()) as Connector<JsonObject>;
  if (connector.discover === undefined) {
    throw new AppError("BAD_REQUEST", `source.${kind.key}: its fields cannot be discovered`);
  }
  return await withService(serviceId, acquire, requestSignal, async (client, signal) => {
    return (await connector.discover?.(config, { network, query: queryOf(client, signal) }, signal)) ?? [];
  });
}

/** Runs the work with a client of the service, within a bounded time. */
async function withService<T>(
  serviceId: string,
  acquire: AcquireService,
  requestSignal: AbortSignal,
  work: (client: ClickHouseClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), checkTimeoutMs);
  const onAbort = () => timeout.abort();
  requestSignal.addEventListener("abort", onAbort);
  try {
    const { release, address } = await acquire(serviceId, timeout.signal);
    const client = new ClickHouseClient(address);
    try {
      return await abortable(work(client, timeout.signal), timeout.signal);
    } finally {
      client.close();
      release();
    }
  } catch (error) {
    if (!timeout.signal.aborted || requestSignal.aborted) throw error;
    const message = `The source or the service did not answer within ${checkTimeoutMs / 1000} s.`;
    throw new AppError("SOURCE_UNREACHABLE", message, { cause: error });
  } finally {
    clearTimeout(timer);
    requestSignal.removeEventListener("abort", onAbort);
  }
}

async function checkSource(client: ClickHouseClient, request: CheckRequest, signal: AbortSignal): Promise<void> {
  if (request.config === undefined && !request.validateSamples) return;
  const connector = await request.kind.connect();
  const query = queryOf(client, signal);
  const isExisting = request.managedTable === undefined;
  const { network, validateSamples, table: destination } = request;
  const options = { network, validateSamples, destination, query, isExisting };
  await connector.check((request.config ?? {}) as never, options, signal);
}

/** What the engine says about a sample is said about the source. */
function queryOf(client: ClickHouseClient, signal: AbortSignal): Query {
  return async (sql, options = {}) => {
    try {
      return await client.rows(sql, { ...options, signal });
    } catch (error) {
      if (!(error instanceof ClickHouseError)) throw error;
      throw new AppError("SOURCE_INVALID", sentenceOf(failureOf(error)), { cause: error });
    }
  };
}

async function checkDestination(client: ClickHouseClient, request: CheckRequest): Promise<void> {
  if (request.managedTable === undefined) return;
  const { database, table, owned } = request.table;
  // The connector knows what its tables must be, and looks itself.
  if (owned !== undefined) return;
  const found = await findTable(client, database, table);
  if (found === undefined) {
    if (request.managedTable) return;
    refuse("table", `table ${database}.${table} does not exist; create it, or set managedTable`);
  }
  const columns = await columnsOf(client, request.table);
  if (request.managedTable && (await hasRows(client, found))) {
    refuse("table", `table ${database}.${table} exists and is not empty`);
  }
  if (!/MergeTree$/.test(found.engine) && found.engine !== "Null") {
    refuse("table", `table ${database}.${table} has the engine ${found.engine}; exactly-once needs a MergeTree table`);
  }
  const missing = request.table.columns.filter((column) => !columns.has(column.name)).map((column) => column.name);
  if (missing.length > 0) refuse("columns", `table ${database}.${table} has no column ${missing.join(", ")}`);
  const other = request.table.columns.filter((column) => compact(columns.get(column.name)) !== compact(column.type));
  if (request.managedTable && other.length > 0) {
    const list = other.map((column) => `${column.name} is ${columns.get(column.name)}`).join(", ");
    refuse("columns", `table ${database}.${table} exists with other types: ${list}`);
  }
}

async function columnsOf(client: ClickHouseClient, table: DestinationTable): Promise<Map<string, string>> {
  const rows = await client.rows<{ name: string; type: string }>(
    "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
    { params: { database: table.database, table: table.table } },
  );
  return new Map(rows.map((row) => [row.name, row.type]));
}

async function hasRows(client: ClickHouseClient, table: TableFacts): Promise<boolean> {
  const rows = await client.rows(
    "SELECT 1 FROM system.parts WHERE active AND rows > 0 AND database = {database:String} AND table = {table:String} LIMIT 1",
    { params: { database: table.database, table: table.name } },
  );
  return rows.length > 0;
}

function compact(type: string | undefined): string {
  return (type ?? "").replaceAll(/\s+/g, "");
}

function refuse(member: string, message: string): never {
  const issues: Issue[] = [{ path: `destination.${member}`, message }];
  throw new AppError("DESTINATION_INVALID", `destination.${member}: ${message}`, { issues });
}
