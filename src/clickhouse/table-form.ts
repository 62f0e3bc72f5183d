/**
 * How a table is written so that it exists on every server that needs it, and remembers the tokens of inserts for long
 * enough. The forms differ in the database's engine and in the cluster.
 */
import { AppError } from "../lib/errors.ts";
import { identifier } from "./sql.ts";
import { replicasOf, shardsOf, type Topology } from "./topology.ts";

/** Number of blocks whose tokens the engine remembers: more than any batch in progress can have. */
export const dedupWindow = 100_000;

/**
 * Seconds for which a replicated table remembers them: 30 days. A pipe may be stopped for that long between an insert
 * and its repetition. The engine's default is an hour.
 */
export const dedupWindowSeconds = 30 * 24 * 3600;

export type TableForm = {
  /**
   * `plain`: one server. `database`: a `Replicated` database carries statements to its replicas. `cluster`: `ON
   * CLUSTER` does. `cloud`: all servers share one catalog and storage.
   */
  readonly kind: "plain" | "database" | "cluster" | "cloud";
  /** Undefined for `plain`. */
  readonly cluster: string | undefined;
  /** Parts are copied between replicas by the table's engine. */
  readonly isReplicated: boolean;
  readonly shards: number;
};

export const plainForm: TableForm = { kind: "plain", cluster: undefined, isReplicated: false, shards: 1 };

/** The form of tables on this server. Throws DESTINATION_INVALID for replicas without Keeper. */
export function tableFormOf(topology: Topology): TableForm {
  const { cluster, databaseEngine, hasKeeper, isCloud } = topology;
  if (isCloud) return { kind: "cloud", cluster: cluster?.name, isReplicated: true, shards: 1 };
  if (cluster === undefined) return plainForm;
  const shards = shardsOf(topology);
  if (databaseEngine === "Replicated") return { kind: "database", cluster: cluster.name, isReplicated: true, shards };
  const isReplicated = replicasOf(topology) > 1;
  if (isReplicated && !hasKeeper) {
    const message =
      `The cluster ${cluster.name} has replicas, but the server is not connected to ClickHouse Keeper, which replicated ` +
      "tables need. Configure <zookeeper> on its servers, or name no cluster.";
    throw new AppError("DESTINATION_INVALID", message);
  }
  return { kind: "cluster", cluster: cluster.name, isReplicated, shards };
}

/** ` ON CLUSTER ...`, to follow the name in a statement that defines a table or database; empty where not needed. */
export function onCluster({ kind, cluster }: TableForm): string {
  return kind === "cluster" && cluster !== undefined ? ` ON CLUSTER ${identifier(cluster)}` : "";
}

/** The engine's name; its arguments do not differ. The path in Keeper is the server's default, which is unique. */
export function engineName({ kind, isReplicated }: TableForm, type: string): string {
  return isReplicated && kind !== "cloud" && type.endsWith("MergeTree") ? `Replicated${type}` : type;
}

/** The settings of a MergeTree table that make it remember tokens. */
export function windowSettings({ isReplicated }: { readonly isReplicated: boolean }): string[] {
  if (!isReplicated) return [`non_replicated_deduplication_window = ${dedupWindow}`];
  return [
    `replicated_deduplication_window = ${dedupWindow}`,
    `replicated_deduplication_window_seconds = ${dedupWindowSeconds}`,
  ];
}

/**
 * Settings of statements that define tables. A replica that is down does not hold them up: it executes them when it is
 * back.
 */
export function definitionSettings({ kind }: TableForm): Readonly<Record<string, string | number>> {
  if (kind === "cluster") {
    return { distributed_ddl_task_timeout: 30, distributed_ddl_output_mode: "null_status_on_timeout" };
  }
  return kind === "database" ? { distributed_ddl_output_mode: "null_status_on_timeout_only_active" } : {};
}
