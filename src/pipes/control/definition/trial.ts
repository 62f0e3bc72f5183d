/**
 * Tries a definition of a table with the service's engine. A temporary table belongs to the request that creates it,
 * so that nothing is left behind, whenever the engine or this process is killed.
 */
import { type ClickHouseClient, ClickHouseError } from "../../../clickhouse/client.ts";
import type { Issue } from "../../../lib/errors.ts";
import type { PipeDestination } from "../../../store/pipes/pipes.ts";
import { failureOf, sentenceOf } from "../../failures.ts";
import { definitionSql } from "../../managed-table.ts";

type Column = NonNullable<PipeDestination["columns"]>[number];
type TableDefinition = NonNullable<PipeDestination["tableDefinition"]>;
type Trial = (definition: Pick<PipeDestination, "columns" | "tableDefinition">) => Promise<string | undefined>;

/** Each one costs a few statements, and the request is limited in time. */
const maxTypeIssues = 20;

/**
 * What the engine refuses in a definition, with the members at fault. Throws when the engine does not answer, or
 * refuses for lack of resources.
 */
export async function refusedByEngine(
  client: ClickHouseClient,
  { columns = [], tableDefinition }: Pick<PipeDestination, "columns" | "tableDefinition">,
): Promise<Issue[]> {
  const trial: Trial = (definition) => tryTable(client, definition);
  const whole = await trial({ columns, tableDefinition });
  if (whole === undefined) return [];
  const issues = await typeIssues(trial, columns);
  if (issues.length > 0) return issues;
  const members = await memberIssues(trial, columns, tableDefinition ?? {});
  const rest = [{ path: "destination.tableDefinition", message: whole }];
  return members.length > 0 ? members : rest;
}

async function tryTable(
  client: ClickHouseClient,
  definition: Pick<PipeDestination, "columns" | "tableDefinition">,
): Promise<string | undefined> {
  try {
    await client.command(`CREATE TEMPORARY TABLE definition ${definitionSql(definition)}`);
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    if (!(error instanceof ClickHouseError) || failure.kind === "engine") throw error;
    return sentenceOf(failure);
  }
}

/** Halves the columns until the refused ones are alone. */
async function typeIssues(trial: Trial, columns: readonly Column[]): Promise<Issue[]> {
  const issues: Issue[] = [];
  const search = async (from: number, to: number): Promise<void> => {
    if (issues.length >= maxTypeIssues) return;
    const message = await trial({ columns: columns.slice(from, to) });
    if (message === undefined) return;
    if (to - from === 1) return void issues.push({ path: `destination.columns.${from}.type`, message });
    const middle = (from + to) >> 1;
    await search(from, middle);
    await search(middle, to);
  };
  await search(0, columns.length);
  return issues;
}

async function memberIssues(trial: Trial, columns: Column[], definition: TableDefinition): Promise<Issue[]> {
  const { engine, sortingKey, partitionBy, primaryKey } = definition;
  const sorted = { ...(sortingKey === undefined ? {} : { sortingKey }) };
  const issues: Issue[] = [];
  const look = async (member: string, tableDefinition: TableDefinition) => {
    const message = await trial({ columns, tableDefinition });
    if (message !== undefined) issues.push({ path: `destination.tableDefinition.${member}`, message });
  };
  await look("sortingKey", sorted);
  const isSorted = issues.length === 0;
  if (partitionBy !== undefined) await look("partitionBy", { partitionBy });
  if (primaryKey !== undefined && isSorted) await look("primaryKey", { ...sorted, primaryKey });
  if (engine !== undefined && isSorted) await look(argumentOf(engine), { ...sorted, engine });
  return issues;
}

function argumentOf(engine: NonNullable<TableDefinition["engine"]>): string {
  if (engine.versionColumnId !== undefined) return "engine.versionColumnId";
  return engine.columnIds === undefined ? "engine" : "engine.columnIds";
}
