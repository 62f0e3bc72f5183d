/** Where the tables of a pipe are on the server or cluster of its service. */
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { type TableForm, tableFormOf } from "../clickhouse/table-form.ts";
import { detectTopology, type Topology } from "../clickhouse/topology.ts";

export type Layout = { readonly topology: Topology; readonly form: TableForm };

/** Throws ClickHouseError, and DESTINATION_INVALID where tables cannot be made as the cluster needs them. */
export async function layoutOf(client: ClickHouseClient, database: string): Promise<Layout> {
  const topology = await detectTopology(client, { database, cluster: client.cluster });
  return { topology, form: tableFormOf(topology) };
}
