/** Service rows as the API shows them. */
import { cpus, totalmem } from "node:os";
import type { z } from "zod";
import type { serviceDetails, serviceRecord } from "../../api/services.ts";
import { packagedVersion } from "../../clickhouse/version.ts";
import type { Service } from "../../store/services.ts";

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
export function serviceRecordOf(row: Service, endpoint: EndpointFacts): z.input<typeof serviceRecord> {
  return {
    id: row.id,
    name: row.name,
    // A service that never ran is going to run on the engine at hand.
    databaseVersion: row.databaseVersion === "" ? packagedVersion : row.databaseVersion,
    endpoints: [{ protocol: endpoint.protocol, host: endpoint.host, port: row.port, username: "default" }],
    minTotalMemoryGb: row.minReplicaMemoryGb * row.numReplicas,
    maxTotalMemoryGb: row.maxReplicaMemoryGb * row.numReplicas,
    minReplicaMemoryGb: row.minReplicaMemoryGb,
    maxReplicaMemoryGb: row.maxReplicaMemoryGb,
    numReplicas: row.numReplicas,
    idleScaling: row.idleScaling,
    idleTimeoutMinutes: row.idleTimeoutMinutes,
    ipAccessList: [...row.ipAccessList],
    createdAt: row.createdAt,
    privateEndpointIds: [],
    availablePrivateEndpointIds: [],
    dataWarehouseId: row.id,
    isPrimary: true,
    isReadonly: false,
    hasTransparentDataEncryption: false,
  };
}

export function serviceDetailsOf(
  row: Service,
  endpoint: EndpointFacts,
  { lastActivityAt, diskUsedBytes, diskProblem, endpointProblem }: LiveFacts,
): z.input<typeof serviceDetails> {
  const stateMessage = row.stateMessage ?? endpointProblem ?? diskProblem;
  const reachable = endpointProblem === undefined || !["running", "idle"].includes(row.state);
  const idles = row.state === "running" && row.idleScaling && lastActivityAt !== undefined;
  return {
    ...serviceRecordOf(row, endpoint),
    state: reachable ? row.state : "degraded",
    ...(stateMessage === undefined ? {} : { stateMessage }),
    ...(row.diskGb === null ? {} : { diskGb: row.diskGb }),
    ...(diskUsedBytes === undefined ? {} : { diskUsedBytes }),
    provider: row.provider,
    region: row.region,
    ...(row.releaseChannel === null ? {} : { releaseChannel: row.releaseChannel }),
    tags: [...row.tags],
    idle: {
      ...(lastActivityAt === undefined ? {} : { lastQueryAt: new Date(lastActivityAt).toISOString() }),
      ...(idles ? { idleAt: new Date(lastActivityAt + row.idleTimeoutMinutes * 60_000).toISOString() } : {}),
    },
  };
}

/** A memory size in the API's steps (1, 2, multiples of 4) that leaves this machine half of its memory. */
export function defaultMemoryGb(): number {
  const half = totalmem() / 2 ** 30 / 2;
  if (half < 4) return half < 2 ? 1 : 2;
  return Math.min(356, Math.floor(half / 4) * 4, Math.max(4, cpus().length * 8));
}
