/** `pipe update --column`: the columns and mappings that a pipe gets, and on request the change of its table. */
import { identifier, tableName } from "../../clickhouse/sql.ts";
import type { CliClient } from "../client/client.ts";
import { CliError, usageError } from "../errors.ts";
import { columnOf, mappingOf } from "./pipe-body.ts";

export type ColumnFlags = {
  readonly column?: readonly string[];
  readonly map?: readonly string[];
  readonly alterTable?: boolean;
};

type Column = ReturnType<typeof columnOf>;
type Mapping = ReturnType<typeof mappingOf>;
type PipeParams = { readonly serviceId: string; readonly pipeId: string };
type Body = Readonly<Record<string, unknown>>;

/** Sends the change. A column that the pipe has gets the new type, and another one is added. */
export async function updateColumns(
  client: CliClient,
  params: PipeParams,
  body: Body,
  { column = [], map = [], alterTable }: ColumnFlags,
) {
  const { destination, fieldMappings = [] } = await client.call("getPipe", { params });
  const { database, table, columns: before } = destination;
  if (before == null || table == null) {
    throw usageError("the tables of this pipe have the columns of its source", "Leave out --column and --map.");
  }
  const wanted = column.map(columnOf);
  const columns = merged(before as readonly Column[], wanted, ({ name }) => name);
  const mapped = map.map(mappingOf);
  const fields = columns.map(({ name }) => ({ sourceField: name, destinationField: name }));
  const known = merged(fields, fieldMappings as readonly Mapping[], ({ destinationField }) => destinationField);
  const mappings = merged(known, mapped, ({ destinationField }) => destinationField);
  const input = { params, body: { ...body, destination: { columns }, fieldMappings: mappings } as never };
  try {
    return await client.call("updatePipe", input);
  } catch (error) {
    if (!isOfTable(error)) throw error;
    const { message, code, issues, exitCode, requestId } = error;
    const hint = "The flag --alter-table changes the table first.";
    if (alterTable !== true) throw new CliError(message, { code, issues, exitCode, requestId, hint });
    const names = new Set((before as readonly Column[]).map(({ name }) => name));
    await alter(client, params.serviceId, tableName(database ?? "default", table), wanted, names);
    return await client.call("updatePipe", input);
  }
}

/** Those of before, of which later ones replace those with the same key. */
function merged<T>(before: readonly T[], later: readonly T[], keyOf: (one: T) => string): T[] {
  return [...new Map([...before, ...later].map((one) => [keyOf(one), one])).values()];
}

/** The definition is right, and the table lacks a column or has another type, which a statement changes. */
function isOfTable(error: unknown): error is CliError {
  return error instanceof CliError && error.issues.some(({ statement }) => statement !== undefined);
}

async function alter(
  client: CliClient,
  serviceId: string,
  table: string,
  columns: readonly Column[],
  before: ReadonlySet<string>,
): Promise<void> {
  const changes = columns.map(({ name, type }) => {
    const action = before.has(name) ? "MODIFY COLUMN" : "ADD COLUMN IF NOT EXISTS";
    return `${action} ${identifier(name)} ${type}`;
  });
  const query = `ALTER TABLE ${table} ${changes.join(", ")}`;
  const response = await client.open("runQuery", { params: { serviceId }, body: { query } });
  for await (const _ of response);
}
