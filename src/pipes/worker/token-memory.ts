/**
 * Makes every table that a pipe writes remember tokens for long enough: its own, those behind a `Distributed` one, the
 * targets of views. What cannot be changed is told, with what is lost by it.
 */
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { codesOf } from "../../clickhouse/error-codes.ts";
import { tableName } from "../../clickhouse/sql.ts";
import { definitionSettings, onCluster } from "../../clickhouse/table-form.ts";
import type { Layout } from "../layout.ts";
import { tablesOnReplicas } from "../replicas.ts";
import { type DestinationTableFacts, sinksOf } from "../tables.ts";
import { missingWindow } from "../windows.ts";

/** The user may not, or the server cannot. Anything else is an outage, and tried again. */
const refusals = codesOf("ACCESS_DENIED", "READONLY", "QUERY_IS_PROHIBITED", "SUPPORT_IS_DISABLED", "NOT_IMPLEMENTED");

/** Sentences about tables that may forget tokens. Throws ClickHouseError on outages. */
export async function rememberTokens(
  client: ClickHouseClient,
  target: DestinationTableFacts,
  { form }: Layout,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const table of [target, ...(await sinksOf(client, target))]) {
    const settings = missingWindow(table);
    if (settings === undefined) continue;
    const name = tableName(table.database, table.name);
    const statement = `ALTER TABLE ${name}${onCluster(form)} MODIFY SETTING ${settings.join(", ")}`;
    try {
      await client.command(statement, { settings: definitionSettings(form) });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      warnings.push(forgets(name, statement));
    }
  }
  return warnings;
}

/** Sentences about servers whose tables are missing or forget tokens. Throws ClickHouseError on outages. */
export async function replicaWarnings(
  client: ClickHouseClient,
  { topology }: Layout,
  database: string,
  tables: readonly string[],
): Promise<string[]> {
  try {
    const found = await tablesOnReplicas(client, topology, database, tables);
    if (found === undefined) return [];
    return [
      ...(found.unreached === 0
        ? []
        : [`${found.unreached} of the cluster's ${topology.cluster?.hosts.length} servers do not answer.`]),
      ...found.missing.map(({ host, table }) => `The server ${host} has no table ${database}.${table}.`),
      ...found.forgetful.map(({ host, table, settings }) => {
        const name = tableName(database, table);
        return `On ${host}: ${forgets(name, `ALTER TABLE ${name} MODIFY SETTING ${settings.join(", ")}`)}`;
      }),
    ];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return ["The tables on the cluster's servers cannot be checked: the user needs GRANT REMOTE ON *.*."];
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ClickHouseError && refusals.has(error.code);
}

function forgets(name: string, statement: string): string {
  return (
    `The table ${name} forgets the tokens of inserts too early: a batch that is repeated after that is written twice. ` +
    `Its owner can change this: ${statement}.`
  );
}
