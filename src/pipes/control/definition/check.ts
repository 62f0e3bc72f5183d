/** Checks of a new or changed pipe that contact its source and its service, within a bounded time. */

import { type ClickHouseAddress, ClickHouseClient, ClickHouseError } from "../../../clickhouse/client.ts";
import { distributedProblem } from "../../../clickhouse/distributed.ts";
import type { AcquireEngine } from "../../../clickhouse/lease.ts";
import { tableName } from "../../../clickhouse/sql.ts";
import { plainForm, type TableForm } from "../../../clickhouse/table-form.ts";
import { abortable, childOf } from "../../../lib/abort.ts";
import { AppError, type Issue, memberError, refuseIssues } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { DialTarget } from "../../../outgoing/dialer.ts";
import type { Permits } from "../../../outgoing/permits.ts";
import type { OutgoingPolicy } from "../../../outgoing/policy.ts";
import { connectorOf } from "../../../sources/connectors.ts";
import type { CheckName, CheckRun } from "../../../sources/contract/checks.ts";
import type { Discovery } from "../../../sources/contract/discovery.ts";
import type { ListingPage, SourceListing } from "../../../sources/contract/listing.ts";
import type {
  Destination,
  NetworkContext,
  Query,
  SourceKind,
  TableDestination,
} from "../../../sources/contract/source.ts";
import type { Ledger } from "../../../store/pipes/ledger.ts";
import type { PipeDestination } from "../../../store/pipes/pipes.ts";
import { StoredForms } from "../../durable.ts";
import { failureOf, sentenceOf } from "../../failures.ts";
import { layoutOf } from "../../layout.ts";
import { columnSql, managedTableStatements } from "../../managed-table.ts";
import { columnTypesOf, type DestinationTableFacts, findTable } from "../../tables.ts";
import { listenForEngine } from "../workers/engine-listener.ts";
import { mappingWarnings, sampledFields } from "./sampled-fields.ts";
import { refuseSharedReading } from "./shared-reading.ts";
import { refusedByEngine } from "./trial.ts";

const checkTimeoutMs = 10_000;

export type CheckRequest = {
  readonly organizationId: string;
  readonly serviceId: string;
  readonly kind: SourceKind;
  /** Undefined: the source has not changed. */
  readonly config: JsonObject | undefined;
  readonly table: Destination;
  /** Undefined: the destination has not changed. */
  readonly destination: CheckedDestination | undefined;
  readonly validateSamples: boolean;
  /** The pipe exists: whatever it has created on both sides belongs to it. Undefined: it is new. */
  readonly pipeId: string | undefined;
  /** The pipe's source before the change. */
  readonly stored?: JsonObject | undefined;
  /** Settings of the pipe, where they are part of the request. */
  readonly settings?: Readonly<Record<string, number | boolean>>;
};

export type CheckedDestination = {
  readonly definition: PipeDestination;
  /** Columns of the definition that are new to the pipe, or have another type than before. */
  readonly changed: NonNullable<PipeDestination["columns"]>;
};

export type DiscoverRequest = Pick<CheckRequest, "organizationId" | "serviceId" | "kind"> & {
  readonly config: JsonObject;
  /** Database of the table that is proposed. */
  readonly database: string;
};

export type ListRequest = Pick<CheckRequest, "organizationId" | "kind"> & {
  readonly config: JsonObject;
  readonly page: ListingPage;
};

export type PipeChecksOptions = {
  readonly acquire: AcquireEngine;
  readonly policy: OutgoingPolicy;
  readonly permits: Permits;
  /** What existing pipes keep. */
  readonly ledger: Pick<Ledger, "marks">;
  /** Maximum number of concurrent checks of one organization. */
  readonly limit: number;
};

export type Reached = {
  readonly warnings: readonly Issue[];
  /** The statements that create a managed table. */
  readonly createTable?: string;
};

type Scope = { readonly organizationId: string; readonly serviceId: string };

export class PipeChecks {
  readonly #options: PipeChecksOptions;
  readonly #running = new Map<string, number>();

  constructor(options: PipeChecksOptions) {
    this.#options = options;
  }

  /**
   * Returns what the user should know of an accepted definition, and what creates its table. Throws SOURCE_* or
   * DESTINATION_INVALID with the reason; TOO_MANY_REQUESTS at the limit.
   */
  async reachable(request: CheckRequest, run: CheckRun, requestSignal: AbortSignal): Promise<Reached> {
    const silent = () => silenceOf(request, run.current);
    return await this.#withService(request, requestSignal, silent, async (client, network, signal) => {
      if (client.cluster !== undefined) refuseSharedReading(request.settings);
      const form = (await run.group("table", () => checkDestination(client, request, run))) ?? plainForm;
      const { ledger } = this.#options;
      const parts = { client, network, ledger, run };
      const warnings = (await run.group("connection", () => checkSource(parts, request, signal))) ?? [];
      const { table, destination } = request;
      if (table.kind === "owned" || destination?.definition.managedTable !== true) return { warnings };
      return { warnings, createTable: managedTableStatements(table, destination.definition, form).join(";\n") };
    });
  }

  /**
   * Fields and samples of the source, as the service's engine reads them, and the form of tables in the database.
   * Throws like `reachable`.
   */
  async discover(
    request: DiscoverRequest,
    requestSignal: AbortSignal,
  ): Promise<{ readonly found: Discovery; readonly form: TableForm }> {
    const { kind, config } = request;
    const connector = await connectorOf(kind.key);
    const { discover } = connector;
    if (discover === undefined) {
      throw new AppError("BAD_REQUEST", `source.${kind.key}: its fields cannot be discovered`);
    }
    const silent = () => silenceOf(request);
    return await this.#withService(request, requestSignal, silent, async (client, network, signal) => {
      const { form } = await layoutOf(client, request.database);
      return { found: await discover(config, { network, query: queryOf(client, signal) }, signal), form };
    });
  }

  /** What samples say about the columns of a new pipe; nothing where there is no sample. */
  async sampleWarnings(request: CheckRequest, requestSignal: AbortSignal): Promise<Issue[]> {
    const { config, table, kind } = request;
    if (config === undefined || table.kind === "owned" || (await connectorOf(kind.key)).discover === undefined)
      return [];
    const wanted = { ...request, config, database: table.database };
    const found = async (signal: AbortSignal) => (await this.discover(wanted, signal)).found.fields;
    const fields = await sampledFields(found, requestSignal);
    return fields.length === 0 ? [] : mappingWarnings(fields, table.columns);
  }

  /** What the source has, without its service. Throws SOURCE_* and TOO_MANY_REQUESTS like `reachable`. */
  async list({ organizationId, kind, config, page }: ListRequest, requestSignal: AbortSignal): Promise<SourceListing> {
    const connector = await connectorOf(kind.key);
    const release = this.#begin(organizationId);
    const noEngine = async () => {
      throw new Error("a listing needs no engine");
    };
    const network = { policy: this.#options.policy, organizationId, permitEngine: noEngine, listenForEngine: noEngine };
    try {
      return await inTime(
        requestSignal,
        () => silenceOf({ kind, config }),
        async (signal) => {
          const listing = connector.list?.(config, { network, page }, signal);
          return listing === undefined ? {} : await abortable(listing, signal);
        },
      );
    } finally {
      release();
    }
  }

  /** Runs the work with a client of the service, within a bounded time. `silent` is that of `inTime`. */
  async #withService<T>(
    { organizationId, serviceId }: Scope,
    requestSignal: AbortSignal,
    silent: () => AppError,
    work: (client: ClickHouseClient, network: NetworkContext, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { acquire, policy, permits } = this.#options;
    const withdrawals: (() => void)[] = [this.#begin(organizationId)];
    const permitEngine = async ({ host, port }: DialTarget) =>
      void withdrawals.push(permits.add(serviceId, { kind: "source", host, port }));
    const listenFor = (engine: ClickHouseAddress) => async (isSure?: boolean) => {
      const { listener, withdraw } = await listenForEngine(permits, serviceId, engine, isSure);
      withdrawals.push(withdraw);
      return listener;
    };
    let isAwake = false;
    try {
      return await inTime(
        requestSignal,
        () => (isAwake ? silent() : silentService()),
        async (signal) => {
          const { release, address } = await acquire(serviceId, signal);
          isAwake = true;
          try {
            using client = new ClickHouseClient(address);
            const network = { policy, organizationId, permitEngine, listenForEngine: listenFor(address) };
            return await abortable(work(client, network, signal), signal);
          } finally {
            release();
          }
        },
      );
    } finally {
      for (const withdraw of withdrawals) withdraw();
    }
  }

  /** Takes a slot; the returned function releases it. */
  #begin(organizationId: string): () => void {
    const running = this.#running.get(organizationId) ?? 0;
    const { limit } = this.#options;
    if (running >= limit) {
      const message = `${running} checks of pipes are running, and ${limit} may run at a time (--pipe-checks-per-organization).`;
      throw new AppError("TOO_MANY_REQUESTS", message);
    }
    this.#running.set(organizationId, running + 1);
    return () => {
      const left = (this.#running.get(organizationId) ?? 1) - 1;
      if (left === 0) this.#running.delete(organizationId);
      else this.#running.set(organizationId, left);
    };
  }
}

/** Runs the work within the time of a check. `silent` says, when the time is over, who has not answered. */
async function inTime<T>(
  requestSignal: AbortSignal,
  silent: () => AppError,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using timeout = childOf(requestSignal);
  using _ = setTimeout(() => timeout.abort(silent()), checkTimeoutMs);
  try {
    return await work(timeout.signal);
  } catch (error) {
    throw timeout.signal.aborted && !requestSignal.aborted ? timeout.signal.reason : error;
  }
}

const noAnswer = `did not answer within ${checkTimeoutMs / 1000} s`;

function silentService(): AppError {
  return new AppError("SOURCE_UNREACHABLE", `The service ${noAnswer}.`);
}

/** Names the member whose address the check asks. */
function silenceOf({ kind, config }: Pick<CheckRequest, "kind" | "config">, check?: CheckName): AppError {
  if (check === "tableDefinition" || check === "table") return silentService();
  const members = (check && kind.addresses?.[check]) ?? kind.addresses?.connection ?? [];
  const member = members.find((name) => config?.[name] !== undefined) ?? members.at(-1);
  return memberError("SOURCE_UNREACHABLE", `source.${[kind.key, member].filter(Boolean).join(".")}`, noAnswer);
}

type SourceParts = Pick<PipeChecksOptions, "ledger"> & {
  readonly client: ClickHouseClient;
  readonly network: NetworkContext;
  readonly run: CheckRun;
};

async function checkSource(
  { client, network, ledger, run }: SourceParts,
  request: CheckRequest,
  signal: AbortSignal,
): Promise<readonly Issue[]> {
  if (request.config === undefined && !request.validateSamples) return [];
  const connector = await connectorOf(request.kind.key);
  const query = queryOf(client, signal);
  const { validateSamples, table: destination, pipeId, stored } = request;
  const warnings: Issue[] = [];
  const warn = (warning: Issue) => void warnings.push(warning);
  const forms = new StoredForms(request.kind.durable);
  const marks = async (keys: readonly string[]) =>
    pipeId === undefined ? {} : forms.readMarks(await ledger.marks(pipeId, keys));
  const options = { network, validateSamples, destination, query, pipeId, stored, marks, warn, run };
  await connector.check(request.config ?? {}, options, signal);
  return warnings;
}

/** An engine error about a sample is reported as an error of the source. */
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

/** Undefined when the form of the tables is not known, because a check has failed. */
async function checkDestination(
  client: ClickHouseClient,
  request: CheckRequest,
  run: CheckRun,
): Promise<TableForm | undefined> {
  const { destination, table, pipeId } = request;
  // A connector knows the required form of its own tables and checks them itself.
  if (destination === undefined || table.kind === "owned") return undefined;
  const { managedTable, columns, tableDefinition } = destination.definition;
  const isManaged = managedTable !== false;
  await run.check("tableDefinition", async () => {
    const issues = await refusedByEngine(client, isManaged ? { columns, tableDefinition } : { columns });
    refuseIssues(issues, "DESTINATION_INVALID");
  });
  return await run.check("table", async () => {
    const { form } = await layoutOf(client, table.database);
    await checkTable(client, table, destination, pipeId !== undefined);
    return form;
  });
}

async function checkTable(
  client: ClickHouseClient,
  target: TableDestination,
  destination: CheckedDestination,
  isExisting: boolean,
): Promise<void> {
  const isManaged = destination.definition.managedTable !== false;
  const { database, table } = target;
  const found = await findTable(client, database, table);
  if (found === undefined) {
    if (isManaged) return;
    refuse("table", `table ${database}.${table} does not exist; create it, or set managedTable`);
  }
  if (isManaged && !isExisting && (await hasRows(client, found))) {
    refuse("table", `table ${database}.${table} exists and is not empty`);
  }
  if (found.engine === "Distributed") {
    const problem = await distributedProblem(client, found);
    if (problem !== undefined) refuse("table", problem);
  } else if (!/MergeTree$/.test(found.engine) && found.engine !== "Null") {
    refuse("table", `table ${database}.${table} has the engine ${found.engine}; exactly-once needs a MergeTree table`);
  }
  checkColumns(target, await columnTypesOf(client, database, table), destination, isManaged && isExisting);
}

/** `adds`: the pipe adds columns that its table does not have. */
function checkColumns(
  { database, table }: TableDestination,
  present: ReadonlyMap<string, string>,
  { definition, changed }: CheckedDestination,
  adds: boolean,
): void {
  const name = tableName(database, table);
  const missing = adds ? [] : changed.filter((column) => !present.has(column.name));
  if (missing.length > 0) {
    const list = missing.map((column) => column.name).join(", ");
    const statement = `ALTER TABLE ${name} ${missing.map((column) => `ADD COLUMN ${columnSql(column)}`).join(", ")}`;
    refuse("columns", `table ${database}.${table} has no column ${list}; add it: ${statement}`, statement);
  }
  if (definition.managedTable === false) return;
  const other = changed.filter(({ name, type }) => present.has(name) && compact(present.get(name)) !== compact(type));
  if (other.length === 0) return;
  const list = other.map((column) => `${column.name} is ${present.get(column.name)}`).join(", ");
  const keys = definition.tableDefinition?.sortingKey ?? [];
  const sorted = other.filter((column) => keys.includes(column.name)).map((column) => column.name);
  if (sorted.length > 0) {
    const remedy = `the table is sorted by ${sorted.join(", ")}, whose type cannot be changed in place: load into a new table`;
    refuse("columns", `table ${database}.${table} exists with other types: ${list}; ${remedy}`);
  }
  const statement = `ALTER TABLE ${name} ${other.map((column) => `MODIFY COLUMN ${columnSql(column)}`).join(", ")}`;
  refuse("columns", `table ${database}.${table} exists with other types: ${list}; change it: ${statement}`, statement);
}

async function hasRows(client: ClickHouseClient, table: DestinationTableFacts): Promise<boolean> {
  const rows = await client.rows(
    "SELECT 1 FROM system.parts WHERE active AND rows > 0 AND database = {database:String} AND table = {table:String} LIMIT 1",
    { params: { database: table.database, table: table.name } },
  );
  return rows.length > 0;
}

function compact(type: string | undefined): string {
  return (type ?? "").replaceAll(/\s+/g, "");
}

/** `statement`: SQL that makes the table fit. */
function refuse(member: string, message: string, statement?: string): never {
  const path = `destination.${member}`;
  const issue = { path, message, ...(statement === undefined ? {} : { statement }) };
  throw new AppError("DESTINATION_INVALID", `${path}: ${message}`, { issues: [issue] });
}
