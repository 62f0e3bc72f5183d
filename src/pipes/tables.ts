/** The engine's facts about tables, and which tables receive a table's rows through materialized views. */
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { type Spread, spreadOf } from "../clickhouse/distributed.ts";
import { type Token, tokenize } from "../clickhouse/lexer.ts";
import { parameterText, tableName } from "../clickhouse/sql.ts";
import { type DedupWindow, windowOf } from "./windows.ts";

export type DestinationTableFacts = {
  readonly database: string;
  readonly name: string;
  readonly engine: string;
  /** What the table remembers of tokens. */
  readonly window: DedupWindow;
  /** What a `Distributed` table spreads rows over. */
  readonly spreads: Spread | undefined;
  /** Materialized views that read from it. */
  readonly views: readonly { readonly database: string; readonly name: string }[];
  /** The table that a materialized view writes to. */
  readonly target: { readonly database: string; readonly name: string } | undefined;
};

type Row = {
  database: string;
  name: string;
  engine: string;
  engine_full: string;
  create_table_query: string;
  dependencies_database: string[];
  dependencies_table: string[];
};

export async function findTable(
  client: ClickHouseClient,
  database: string,
  name: string,
): Promise<DestinationTableFacts | undefined> {
  const [row] = await client.rows<Row>(
    "SELECT database, name, engine, engine_full, create_table_query, dependencies_database, dependencies_table " +
      "FROM system.tables WHERE database = {database:String} AND name = {name:String}",
    { params: { database: parameterText(database), name: parameterText(name) } },
  );
  if (row === undefined) return undefined;
  return {
    database: row.database,
    name: row.name,
    engine: row.engine,
    window: windowOf(row),
    spreads: row.engine === "Distributed" ? spreadOf(row.engine_full) : undefined,
    views: row.dependencies_table.map((view, at) => ({
      database: row.dependencies_database[at] as string,
      name: view,
    })),
    target: row.engine === "MaterializedView" ? await viewTarget(client, row) : undefined,
  };
}

/** Types by column, as the engine writes them; empty when there is no such table. */
export async function columnTypesOf(
  client: ClickHouseClient,
  database: string,
  table: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = await client.rows<{ name: string; type: string }>(
    "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
    { params: { database: parameterText(database), table: parameterText(table) } },
  );
  return new Map(rows.map((row) => [row.name, row.type]));
}

/**
 * Every table that rows of this one reach through materialized views, in any number of steps. Those of a `Distributed`
 * table are those of the table behind it on this server, and that table.
 */
export async function sinksOf(client: ClickHouseClient, from: DestinationTableFacts): Promise<DestinationTableFacts[]> {
  const sinks = new Map<string, DestinationTableFacts>();
  const reach = async ({ database, name }: { database: string; name: string }): Promise<void> => {
    const sink = await findTable(client, database, name);
    if (sink === undefined || sinks.has(`${sink.database}\0${sink.name}`)) return;
    sinks.set(`${sink.database}\0${sink.name}`, sink);
    await visit(sink);
  };
  const visit = async ({ spreads, views }: DestinationTableFacts): Promise<void> => {
    if (spreads !== undefined) await reach({ database: spreads.database, name: spreads.table });
    for (const { database, name } of views) {
      const view = await findTable(client, database, name);
      if (view?.target !== undefined) await reach(view.target);
    }
  };
  await visit(from);
  return [...sinks.values()];
}

/**
 * `CREATE MATERIALIZED VIEW a.b UUID '...' TO c.d ...`; without a table after TO the view has an inner table named
 * after the view's uuid. `system.tables` does not show that uuid for the embedded engine's `default`.
 */
async function viewTarget(client: ClickHouseClient, row: Row): Promise<{ database: string; name: string }> {
  const [shown] = await client.rows<{ statement: string }>(
    `SHOW CREATE TABLE ${tableName(row.database, row.name)} SETTINGS show_table_uuid_in_table_create_query_if_not_nil = 1`,
  );
  const tokens = tokenize(shown?.statement ?? "");
  const word = (at: number) => tokens[at]?.text.toUpperCase();
  const end = tokens.findIndex((token) => token.text === "(" || /^(AS|SELECT)$/i.test(token.text));
  const to = tokens.findIndex((token, at) => at > 2 && at < end && token.kind === "word" && word(at) === "TO");
  if (to >= 0 && word(to + 1) !== "INNER") {
    const [first, dot, second] = tokens.slice(to + 1, to + 4) as [Token, Token?, Token?];
    if (dot?.text === "." && second !== undefined) return { database: first.value, name: second.value };
    return { database: row.database, name: first.value };
  }
  const uuid = tokens.findIndex((token, at) => at < end && token.kind === "word" && word(at) === "UUID");
  const inner = uuid < 0 ? `.inner.${row.name}` : `.inner_id.${tokens[uuid + 1]?.value}`;
  return { database: row.database, name: inner };
}
