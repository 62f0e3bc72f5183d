/** Services in tables and words. */
import { traitsOf } from "../../api/runtimes.ts";
import type { ServiceObject } from "../client/resolve.ts";
import type { TableColumn } from "../output/table.ts";
import { age, byteSize, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";

export const serviceColumns: readonly TableColumn<ServiceObject>[] = [
  { title: "NAME", value: ({ name }) => name },
  { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
  { title: "SINCE", value: ({ stateChangedAt }) => age(stateChangedAt), right: true },
  { title: "VERSION", value: ({ databaseVersion }) => databaseVersion },
  { title: "ENDPOINT", value: endpointOf },
  { title: "MEMORY", value: memoryOf, right: true },
  { title: "IDLE", value: idleOf },
  { title: "DISK", value: ({ diskUsedBytes }) => byteSize(diskUsedBytes), right: true },
  { title: "PIPES", value: ({ pipes }) => `${pipes.running}/${pipes.total}`, right: true },
  { title: "BACKUP", value: ({ lastBackup }) => age(lastBackup?.startedAt), right: true },
  { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true, wide: true },
  { title: "ID", value: ({ id }) => id, wide: true },
  { title: "MESSAGE", value: ({ stateMessage }) => stateMessage },
];

/** `http://host:port` of the service. */
export function endpointOf({ endpoints: [endpoint] }: Pick<ServiceObject, "endpoints">): string | undefined {
  return endpoint === undefined ? undefined : `${endpoint.protocol}://${endpoint.host}:${endpoint.port}`;
}

/** The size of an external server is its own. */
function memoryOf(service: ServiceObject): string {
  const { runtime, numReplicas, maxReplicaMemoryGb } = service;
  if (!traitsOf(service).hasSizes) return runtime;
  return numReplicas === 1 ? `${maxReplicaMemoryGb} GiB` : `${numReplicas} x ${maxReplicaMemoryGb} GiB`;
}

function idleOf({ idleScaling, idleTimeoutMinutes, idle }: ServiceObject): string {
  if (!idleScaling) return "never";
  return idle.idleAt === undefined ? `${idleTimeoutMinutes}m` : age(idle.idleAt);
}

/** Shows one service. */
export async function printService(shell: Shell, service: ServiceObject): Promise<void> {
  await shell.printOne(service, [
    ["name", service.name, "bold"],
    ["id", service.id],
    ["state", service.state, stateStyle(service.state)],
    ["message", service.stateMessage],
    ["version", service.databaseVersion],
    ["endpoint", endpointOf(service)],
    ["user", service.endpoints[0]?.username],
    ["server", service.connection?.urls.join(", ")],
    ["server user", service.connection?.username],
    ["database", service.connection?.database],
    ["cluster", service.connection?.cluster],
    ["memory", memoryOf(service)],
    ["idle", service.idleScaling ? `after ${service.idleTimeoutMinutes} min without a query` : "never"],
    ["last query", service.idle.lastQueryAt && `${age(service.idle.lastQueryAt)} ago`],
    ["disk", `${byteSize(service.diskUsedBytes)}${service.diskGb === undefined ? "" : ` of ${service.diskGb} GiB`}`],
    ["access", service.ipAccessList.map(({ source }) => source).join(", ")],
    ["tags", service.tags.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join(", ")],
    ["created", service.createdAt],
  ]);
}
