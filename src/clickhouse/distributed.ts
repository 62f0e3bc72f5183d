/** `Distributed` tables: what they spread rows over, and whether a repeated insert spreads them alike. */
import type { ClickHouseClient } from "./client.ts";
import { tokenize } from "./lexer.ts";
import { literal } from "./sql.ts";

export type Spread = {
  readonly cluster: string;
  readonly database: string;
  readonly table: string;
  /** Absent for a table that is only read, or has one shard. */
  readonly key: string | undefined;
};

/** `Distributed('cluster', 'database', 'table', key, 'policy') ...`. The engine writes names as literals. */
export function spreadOf(engine: string): Spread | undefined {
  const names = tokenize(engine).filter(({ kind }) => kind === "string");
  const [cluster, database, table] = names;
  if (cluster === undefined || database === undefined || table === undefined) return undefined;
  const rest = engine.slice(table.end).trimStart();
  const key = rest.startsWith(",") ? firstArgument(rest.slice(1)) : undefined;
  return { cluster: cluster.value, database: database.value, table: table.value, key };
}

function firstArgument(text: string): string {
  let depth = 0;
  const end = tokenize(text).find(({ text: token }) => {
    if (token === "(") depth += 1;
    else if (token === ")") depth -= 1;
    return depth < 0 || (depth === 0 && token === ",");
  });
  return text.slice(0, end?.start).trim();
}

/** Why repeated inserts into this table do not write every row once; undefined when they do. */
export async function distributedProblem(
  client: ClickHouseClient,
  {
    database,
    name,
    spreads,
  }: { readonly database: string; readonly name: string; readonly spreads: Spread | undefined },
): Promise<string | undefined> {
  const table = `table ${database}.${name}`;
  if (spreads === undefined) return `${table} is Distributed over something that is not a table of a cluster`;
  const [row] = await client.rows<{ shards: string }>(
    `SELECT uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = ${literal(spreads.cluster)}`,
  );
  if (Number(row?.shards) > 1 && spreads.key === undefined) {
    return `${table} has no sharding key, without which nothing can be inserted; recreate it with one, such as cityHash64(id)`;
  }
  const found = unstableFunctions(spreads);
  if (found.length === 0) return undefined;
  return (
    `the sharding key of ${table} contains ${found.join(", ")}: a repeated batch would send rows to other shards, and ` +
    "they would be there twice; recreate it with a key of the row's values, such as cityHash64(id)"
  );
}

/**
 * Functions whose results differ between two inserts of the same rows: a repeated batch would then send rows to other
 * shards, which do not know them. By name, because the column of `system.functions` has other names in other versions.
 */
const unstable =
  /^(rand|now|generate|rowNumber|blockNumber|running|neighbor|today|yesterday|hostName|fqdn|serverUUID|query_?id|initial_?query_?id|uptime|connection_?id|dictGet|joinGet)/i;

function unstableFunctions({ key = "" }: Spread): string[] {
  const tokens = tokenize(key);
  return tokens.flatMap(({ kind, value }, at) =>
    kind === "word" && tokens[at + 1]?.text === "(" && unstable.test(value) ? [value] : [],
  );
}
