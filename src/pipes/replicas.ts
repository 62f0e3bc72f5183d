/** What the servers of a cluster have of a pipe's tables. Statements that define tables are checked with it. */
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { literal } from "../clickhouse/sql.ts";
import type { Topology } from "../clickhouse/topology.ts";
import { missingWindow, windowOf } from "./windows.ts";

export type TablesOnReplicas = {
  /** Servers that did not answer. */
  readonly unreached: number;
  /** A server answered, and has no such table. */
  readonly missing: readonly { readonly host: string; readonly table: string }[];
  /** The table forgets tokens too early. */
  readonly forgetful: readonly {
    readonly host: string;
    readonly table: string;
    readonly settings: readonly string[];
  }[];
};

type Row = { host: string; name: string; engine: string; create_table_query: string };

/** Asks every server of the cluster for these tables. Undefined without a cluster. Throws ClickHouseError. */
export async function tablesOnReplicas(
  client: ClickHouseClient,
  { cluster }: Topology,
  database: string,
  tables: readonly string[],
): Promise<TablesOnReplicas | undefined> {
  if (cluster === undefined || cluster.hosts.length === 0) return undefined;
  const names = tables.map(literal).join(", ");
  // The join keeps servers that have none of the tables.
  const onEach = `SELECT concat(hostName(), ':', toString(tcpPort())) AS host, t.name AS name, t.engine AS engine,
      t.statement AS create_table_query
    FROM system.one LEFT JOIN (
      SELECT name, engine, create_table_query AS statement FROM system.tables
      WHERE database = ${literal(database)} AND name IN (${names})
    ) AS t ON 1`;
  const rows = await client.rows<Row>(
    `SELECT host, name, engine, create_table_query FROM clusterAllReplicas(${literal(cluster.name)}, view(${onEach}))`,
    { settings: { skip_unavailable_shards: 1 } },
  );
  const hosts = new Set(rows.map(({ host }) => host));
  const found = rows.filter(({ name }) => name !== "");
  const has = new Set(found.map(({ host, name }) => `${host}\0${name}`));
  return {
    unreached: Math.max(0, cluster.hosts.length - hosts.size),
    missing: [...hosts].flatMap((host) =>
      tables.filter((table) => !has.has(`${host}\0${table}`)).map((table) => ({ host, table })),
    ),
    forgetful: found.flatMap(({ host, name: table, ...row }) => {
      const settings = missingWindow({ engine: row.engine, window: windowOf(row) });
      return settings === undefined ? [] : [{ host, table, settings }];
    }),
  };
}
