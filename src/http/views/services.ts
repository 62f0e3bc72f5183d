/** Services as the API shows them. */

import { cpus, totalmem } from "node:os";
import type { z } from "zod";
import { traitsOf } from "../../api/runtimes.ts";
import { type ServiceState, serviceDetails, serviceRecord } from "../../api/services.ts";
import { packagedVersion } from "../../clickhouse/version.ts";
import { hostNameOf } from "../../endpoint/hosts/host-name.ts";
import { servicePortOf } from "../../endpoint/ports/service-ports.ts";
import { serverOf } from "../../store/services/service-connections.ts";
import type { ServiceFacts } from "../../store/services/service-facts.ts";
import type { Service } from "../../store/services/services.ts";
import { endedOr } from "./backups.ts";
import { viewOf } from "./view-of.ts";

/** Facts about a service that are not stored. */
export type LiveFacts = {
  /** Milliseconds since 1970. */
  readonly lastActivityAt: number | undefined;
  readonly diskUsedBytes: number | undefined;
  /** A sentence when the service is over its disk quota. */
  readonly diskProblem: string | undefined;
  /** A sentence when the service is unreachable, because its port could not be opened. */
  readonly endpointProblem: string | undefined;
};

/** Where the endpoints of a service are. */
export type EndpointFacts = {
  /** Scheme of its own port. */
  readonly protocol: "http" | "https";
  readonly host: string;
  /** The gateway, where its host name is a name of `domain`. */
  readonly gateway?: NamedEndpoints | undefined;
  /** False: services have endpoints at the gateway only. */
  readonly hasPorts: boolean;
  /** False: services have no ports of the native protocol. */
  readonly hasNative: boolean;
};

export type NamedEndpoints = {
  readonly protocol: "http" | "https";
  readonly domain: string;
  readonly port: number;
  /** True where TLS ends at the gateway itself: it has the native protocol then. */
  readonly hasNative: boolean;
};

const recordView = viewOf(serviceRecord);
const detailsView = viewOf(serviceDetails);
const backupView = viewOf(serviceDetails.shape.lastBackup.unwrap());
const statesView = viewOf(
  serviceDetails.pick({
    state: true,
    stateMessage: true,
    diskGb: true,
    diskUsedBytes: true,
    stateChangedAt: true,
    lastBackup: true,
  }),
);

/** Exactly the contract's record, without additional members. */
export function serviceRecordOf(service: Service, endpoint: EndpointFacts) {
  return recordView(shownService(service, endpoint));
}

function shownService(service: Service, endpoint: EndpointFacts) {
  const { databaseVersion, minReplicaMemoryGb, maxReplicaMemoryGb, numReplicas } = service;
  return {
    ...service,
    // A service that never ran will run on the packaged engine. An external server reports its version.
    databaseVersion: databaseVersion === "" && traitsOf(service).isOwnProcess ? packagedVersion : databaseVersion,
    endpoints: [...ownEndpoints(service, endpoint), ...serverEndpoints(service)],
    minTotalMemoryGb: minReplicaMemoryGb * numReplicas,
    maxTotalMemoryGb: maxReplicaMemoryGb * numReplicas,
    privateEndpointIds: [],
    availablePrivateEndpointIds: [],
    dataWarehouseId: service.id,
    isPrimary: true,
    isReadonly: false,
    hasTransparentDataEncryption: false,
  };
}

/** Millrace's endpoints of the service. The first one is what clients use over HTTP, and the gateway's comes first. */
export function ownEndpoints(
  service: Pick<Service, "id" | "port" | "nativePort" | "runtime">,
  { protocol, host, gateway, hasPorts, hasNative }: EndpointFacts,
): z.input<typeof serviceRecord>["endpoints"] {
  const named = gateway && { ...gateway, host: hostNameOf(service.id, gateway.domain) };
  const port = hasPorts ? servicePortOf(service) : undefined;
  const { isOwnProcess } = traitsOf(service);
  const nativePort = port !== undefined && hasNative && isOwnProcess ? service.nativePort : null;
  const native = protocol === "https" ? "nativesecure" : "native";
  return [
    ...(named === undefined
      ? []
      : [{ protocol: named.protocol, host: named.host, port: named.port, username: "default" }]),
    ...(port === undefined ? [] : [{ protocol, host, port, username: "default" }]),
    ...(named?.hasNative === true && isOwnProcess
      ? [{ protocol: "nativesecure", host: named.host, port: named.port, username: "default" } as const]
      : []),
    ...(nativePort === null ? [] : [{ protocol: native, host, port: nativePort, username: "default" } as const]),
  ];
}

/** The server's own, which its users reach without Millrace. */
function serverEndpoints({ connection }: Service): z.input<typeof serviceRecord>["endpoints"] {
  return (connection?.urls ?? []).map((text) => {
    const { protocol, host, port } = serverOf(text);
    return { protocol, host, port, username: connection?.username ?? "" };
  });
}

/** What the service is now: its state, its disk, and its newest backup. */
export function serviceStatesOf(
  service: Service,
  { diskUsedBytes, diskProblem, endpointProblem, lastBackup }: LiveFacts & ServiceFacts,
) {
  const state = stateAfterCommand(service);
  const stateMessage = service.stateMessage ?? endpointProblem ?? diskProblem;
  const reachable = endpointProblem === undefined || !["running", "idle"].includes(state);
  return statesView({
    ...service,
    state: reachable ? state : "degraded",
    stateMessage,
    diskUsedBytes,
    lastBackup: lastBackup && backupView({ ...lastBackup, status: endedOr(lastBackup.status) }),
  });
}

/** `note`: a sentence that needs nobody's attention, shown when there is none that does. */
export function serviceDetailsOf(
  service: Service,
  endpoint: EndpointFacts,
  facts: LiveFacts & ServiceFacts,
  note?: string,
) {
  const { connection, idleTimeoutMinutes } = service;
  const { lastActivityAt } = facts;
  const idles = service.state === "running" && service.idleScaling && lastActivityAt !== undefined;
  return detailsView({
    ...shownService(service, endpoint),
    ...{ stateMessage: note, diskUsedBytes: undefined, ...serviceStatesOf(service, facts) },
    port: servicePortOf(service),
    rows: service.tableRows,
    pipes: facts.pipes,
    connection: connection && { ...connection, urls: [...connection.urls] },
    idle: {
      ...(lastActivityAt === undefined ? {} : { lastQueryAt: new Date(lastActivityAt).toISOString() }),
      ...(idles ? { idleAt: new Date(lastActivityAt + idleTimeoutMinutes * 60_000).toISOString() } : {}),
    },
  });
}

/** The stored state, or after a command that the reconciler has not seen yet, the state that the command leads to. */
function stateAfterCommand({ desiredState, state, wakeRequested }: Service): ServiceState {
  if (desiredState === "stopped") return ["stopped", "stopping"].includes(state) ? state : "stopping";
  if (desiredState === "deleted") return "terminating";
  if (state === "idle") return wakeRequested ? "awaking" : "idle";
  const starts = state === "stopped" || state === "stopping" || (state === "failed" && wakeRequested);
  return starts ? "starting" : state;
}

/** A memory size in the API's steps (1, 2, multiples of 4) that leaves this machine half of its memory. */
export function defaultMemoryGb(): number {
  const half = totalmem() / 2 ** 30 / 2;
  if (half < 4) return half < 2 ? 1 : 2;
  return Math.min(356, Math.floor(half / 4) * 4, Math.max(4, cpus().length * 8));
}
