/** Service rows as the API shows them. */
import { cpus, totalmem } from "node:os";
import type { z } from "zod";
import type { serviceDetails, serviceRecord } from "../../api/services.ts";
import { packagedVersion } from "../../clickhouse/version.ts";
import type { ServiceRow } from "../../store/services.ts";

/** What is known of a service besides its row. */
export type LiveFacts = {
  /** Milliseconds since 1970. */
  readonly lastActivityAt: number | undefined;
  readonly diskUsedBytes: number | undefined;
  /** A sentence when the service is over its quota of disk. */
  readonly diskProblem: string | undefined;
  /** A sentence when nobody can reach the service, because its port could not be opened. */
  readonly endpointProblem: string | undefined;
};

export type EndpointFacts = { readonly protocol: "http" | "https"; readonly host: string };

/** Exactly the contract's record: no member of ours. */
export function serviceRecordOf(row: ServiceRow, endpoint: EndpointFacts): z.input<typeof serviceRecord> {
  return {
    id: row.id,
    name: row.name,
    // A service that never ran is going to run on the engine at hand.
    databaseVersion: row.database_version === "" ? packagedVersion : row.database_version,
    endpoints: [{ protocol: endpoint.protocol, host: endpoint.host, port: row.port, username: "default" }],
    minTotalMemoryGb: row.min_replica_memory_gb * row.num_replicas,
    maxTotalMemoryGb: row.max_replica_memory_gb * row.num_replicas,
    minReplicaMemoryGb: row.min_replica_memory_gb,
    maxReplicaMemoryGb: row.max_replica_memory_gb,
    numReplicas: row.num_replicas,
    idleScaling: row.idle_scaling === 1,
    idleTimeoutMinutes: row.idle_timeout_minutes,
    ipAccessList: JSON.parse(row.ip_access_list),
    createdAt: row.created_at,
    privateEndpointIds: [],
    availablePrivateEndpointIds: [],
    dataWarehouseId: row.id,
    isPrimary: true,
    isReadonly: false,
    hasTransparentDataEncryption: false,
  };
}

export function serviceDetailsOf(
  row: ServiceRow,
  endpoint: EndpointFacts,
  { lastActivityAt, diskUsedBytes, diskProblem, endpointProblem }: LiveFacts,
): z.input<typeof serviceDetails> {
  const stateMessage = row.state_message ?? endpointProblem ?? diskProblem;
  const reachable = endpointProblem === undefined || !["running", "idle"].includes(row.state);
  const idles = row.state === "running" && row.idle_scaling === 1 && lastActivityAt !== undefined;
  return {
    ...serviceRecordOf(row, endpoint),
    state: reachable ? row.state : "degraded",
    ...(stateMessage === undefined ? {} : { stateMessage }),
    ...(row.disk_gb === null ? {} : { diskGb: row.disk_gb }),
    ...(diskUsedBytes === undefined ? {} : { diskUsedBytes }),
    provider: row.provider,
    region: row.region,
    ...(row.release_channel === null ? {} : { releaseChannel: row.release_channel }),
    tags: JSON.parse(row.tags),
    idle: {
      ...(lastActivityAt === undefined ? {} : { lastQueryAt: new Date(lastActivityAt).toISOString() }),
      ...(idles ? { idleAt: new Date(lastActivityAt + row.idle_timeout_minutes * 60_000).toISOString() } : {}),
    },
  };
}

/** A memory size in the API's steps (1, 2, multiples of 4) that leaves this machine half of its memory. */
export function defaultMemoryGb(): number {
  const half = totalmem() / 2 ** 30 / 2;
  if (half < 4) return half < 2 ? 1 : 2;
  return Math.min(356, Math.floor(half / 4) * 4, Math.max(4, cpus().length * 8));
}
