/** The objects of a server in the form of `apply`'s documents. */
import { defaultRuntime, traitsOf } from "../../api/runtimes.ts";
import type { CliClient, OperationResult } from "../client/client.ts";
import { listPipesOf, type PipeObject, type ServiceObject } from "../client/resolve.ts";
import type { CurrentObject, ObjectKind } from "./files.ts";
import { isSaved, readSaved, savedKinds, withNames } from "./saved.ts";

/** Tags by which `apply` knows its own objects: `applied.pipe.<id>`, with the set as the value. */
export const labelPrefix = "applied.";

/** Services, and what these kinds of documents describe. */
export async function readCurrent(client: CliClient, kinds: readonly ObjectKind[]): Promise<CurrentObject[]> {
  const services = await client.call("listServices", {});
  const nameOf = new Map(services.map(({ id, name }) => [id, name]));
  // Saved objects name pipes, sources and one another.
  const hasSaved = kinds.some(isSaved);
  const has = (kind: ObjectKind) => kinds.includes(kind);
  const [pipes, sources, keys, schedules, saved] = await Promise.all([
    has("Pipe") || hasSaved ? listPipesOf(client, services) : [],
    has("Source") || hasSaved ? sourcesOf(client) : [],
    has("Key") ? client.call("listKeys", {}) : [],
    has("BackupSchedule") ? schedulesOf(client, services) : [],
    hasSaved ? Promise.all(savedKinds.map((kind) => readSaved(client, kind))) : [],
  ]);
  const objects: CurrentObject[] = [
    ...services.map((service) => serviceDocument(service)),
    ...schedules,
    ...pipes.map((pipe) => pipeDocument(pipe)),
    ...sources.map((source) => sourceDocument(source, nameOf.get(source.serviceId) ?? source.serviceId)),
    ...keys.map(({ id, name, roles, state, ipAccessList, expireAt, pipeId, pushLimits }) => {
      return {
        kind: "Key" as const,
        name,
        service: undefined,
        id,
        serviceId: undefined,
        spec: { roles, state, ipAccessList, expireAt, pipeId, pushLimits },
      };
    }),
    ...saved.flat(),
  ];
  return objects.map((one) => (isSaved(one.kind) ? { ...one, spec: withNames(one.spec, objects) } : one));
}

async function sourcesOf(client: CliClient): Promise<Source[]> {
  return (await client.call("listSources", {})).data;
}

async function schedulesOf(client: CliClient, services: readonly ServiceObject[]): Promise<CurrentObject[]> {
  return await Promise.all(
    // Backups that a server makes itself have no schedule by default.
    services
      .filter((service) => !traitsOf(service).makesOwnBackups)
      .map(async ({ id: serviceId, name }) => {
        const spec = await client.call("getBackupConfiguration", { params: { serviceId } });
        return { kind: "BackupSchedule" as const, name, service: name, id: serviceId, serviceId, spec };
      }),
  );
}

function serviceDocument(service: ServiceObject): CurrentObject {
  const { id, name } = service;
  return { kind: "Service", name, service: undefined, id, serviceId: id, spec: serviceSpec(service) };
}

/** What documents describe of a service. */
export function serviceSpec(service: ServiceObject): CurrentObject["spec"] {
  const { minReplicaMemoryGb, maxReplicaMemoryGb, numReplicas, idleScaling, idleTimeoutMinutes } = service;
  const { ipAccessList, diskGb, releaseChannel, port, runtime, connection } = service;
  const size = { minReplicaMemoryGb, maxReplicaMemoryGb, numReplicas, idleScaling, idleTimeoutMinutes };
  return {
    ...(runtime === defaultRuntime ? {} : { runtime }),
    ...(traitsOf(service).hasConnection ? { connection } : {}),
    ...(traitsOf(service).hasSizes ? size : {}),
    ...{ ipAccessList, diskGb, releaseChannel, port },
    tags: service.tags.filter(({ key }) => !key.startsWith(labelPrefix)),
  };
}

function pipeDocument(pipe: PipeObject): CurrentObject {
  const { id, name, serviceId, serviceName } = pipe;
  return { kind: "Pipe", name, service: serviceName, id, serviceId, spec: pipeSpec(pipe) };
}

/** What documents describe of a pipe. */
export function pipeSpec({
  source,
  destination,
  fieldMappings,
  scaling,
  settings,
}: Pick<PipeObject, "source" | "destination" | "fieldMappings" | "scaling" | "settings">): CurrentObject["spec"] {
  return { source, destination, fieldMappings, scaling, settings };
}

type Source = OperationResult<"listSources">["data"][number];

function sourceDocument(source: Source, service: string): CurrentObject {
  const { id, name, serviceId, connection: _, createdAt: _c, updatedAt: _u, ...spec } = source;
  return { kind: "Source", name, service, id, serviceId, spec };
}
