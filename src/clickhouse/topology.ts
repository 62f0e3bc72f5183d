/** What a ClickHouse server is part of: a cluster with shards and replicas, Keeper, ClickHouse Cloud. */
import { AppError } from "../lib/errors.ts";
import type { ClickHouseClient } from "./client.ts";
import { parameterText } from "./sql.ts";

export type ClusterHost = {
  readonly shard: number;
  readonly replica: number;
  readonly host: string;
  /** The port of the native protocol, as the cluster's servers reach each other. */
  readonly port: number;
  /** The server that answered. */
  readonly isLocal: boolean;
};

export type Topology = {
  readonly version: string;
  /** Undefined when the database does not exist. */
  readonly databaseEngine: string | undefined;
  /** The named cluster, or that of a `Replicated` or `Shared` database. */
  readonly cluster: { readonly name: string; readonly hosts: readonly ClusterHost[] } | undefined;
  readonly macros: Readonly<Record<string, string>>;
  readonly isCloud: boolean;
  /** The server is connected to ClickHouse Keeper or ZooKeeper. */
  readonly hasKeeper: boolean;
};

type ServerRow = {
  version: string;
  engines: string[];
  macros: [string, string][];
  cloud: string[];
  keeper: string;
};

/**
 * A server that is connected to Keeper has a table of it; builds without that table show it by their replicated tables.
 * A right that is missing for one of the system tables is the error of the server.
 */
const serverSql = `SELECT version() AS version,
  (SELECT groupArray(engine) FROM system.databases WHERE name = {database:String}) AS engines,
  (SELECT groupArray((macro, substitution)) FROM system.macros) AS macros,
  (SELECT groupArray(value) FROM system.settings WHERE name = 'cloud_mode') AS cloud,
  (SELECT count() FROM system.tables
    WHERE (database = 'system' AND name = 'zookeeper') OR engine LIKE 'Replicated%') AS keeper`;

/**
 * Asks the server about itself and the cluster. Throws ClickHouseError, and DESTINATION_INVALID when the server does
 * not know the named cluster.
 */
export async function detectTopology(
  client: ClickHouseClient,
  of: { readonly database: string; readonly cluster?: string | undefined },
): Promise<Topology> {
  const params = { database: parameterText(of.database) };
  const [row] = await client.rows<ServerRow>(serverSql, { params });
  if (row === undefined) throw new Error("the server did not describe itself");
  const databaseEngine = row.engines[0];
  const isCloud = row.cloud[0] === "1" || databaseEngine === "Shared";
  const name =
    databaseEngine === "Replicated" && !isCloud ? of.database : (of.cluster ?? (isCloud ? "default" : undefined));
  return {
    version: row.version,
    databaseEngine,
    cluster: name === undefined ? undefined : { name, hosts: await hostsOf(client, name) },
    macros: Object.fromEntries(row.macros),
    isCloud,
    hasKeeper: Number(row.keeper) > 0,
  };
}

/** Number of shards; 1 without a cluster. */
export function shardsOf({ cluster }: Topology): number {
  return Math.max(1, new Set(cluster?.hosts.map(({ shard }) => shard)).size);
}

/** Number of replicas of the largest shard; 1 without a cluster. */
export function replicasOf({ cluster }: Topology): number {
  const counts = new Map<number, number>();
  for (const { shard } of cluster?.hosts ?? []) counts.set(shard, (counts.get(shard) ?? 0) + 1);
  return Math.max(1, ...counts.values());
}

async function hostsOf(client: ClickHouseClient, name: string): Promise<ClusterHost[]> {
  const rows = await client.rows<Record<"shard" | "replica" | "host" | "port" | "local", string | number>>(
    `SELECT shard_num AS shard, replica_num AS replica, host_name AS host, port, is_local AS local
     FROM system.clusters WHERE cluster = {cluster:String} ORDER BY shard, replica`,
    { params: { cluster: parameterText(name) } },
  );
  if (rows.length === 0) {
    const known = await client.rows<{ cluster: string }>(
      "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster",
    );
    const others = known.map(({ cluster }) => cluster).join(", ");
    const message = `The server has no cluster ${name}; ${others === "" ? "it has none" : `it has ${others}`}.`;
    throw new AppError("DESTINATION_INVALID", message);
  }
  return rows.map(({ shard, replica, host, port, local }) => ({
    shard: Number(shard),
    replica: Number(replica),
    host: String(host),
    port: Number(port),
    isLocal: Number(local) === 1,
  }));
}
