/** Services: handlers read rows and write the desired state; the services reconciler carries it out. */

import { anywhere } from "../../../api/ip-access.ts";
import { type Input, withoutNulls } from "../../../api/operation.ts";
import type { ManagementOperations } from "../../../api/operations.ts";
import { defaultRuntime, runtimeTraits, traitsOf } from "../../../api/runtimes.ts";
import { listLimits, type serviceOperations } from "../../../api/services.ts";
import { assertRestorable } from "../../../backups/restorable.ts";
import type { ServicePorts } from "../../../endpoint/ports/service-ports.ts";
import { AppError, badRequest, found } from "../../../lib/errors.ts";
import type { PipesChoice } from "../../../store/backups/restores.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import { newSecret, sha256Hex } from "../../../store/database/secrets.ts";
import { type ExpectedVersions, requireVersion } from "../../../store/database/versioned-rows.ts";
import type { Stores } from "../../../store/open.ts";
import type { ServiceFacts } from "../../../store/services/service-facts.ts";
import type { NewService, Service, ServiceStore, Tag } from "../../../store/services/services.ts";
import { pageOf } from "../../request/paging.ts";
import {
  defaultMemoryGb,
  type EndpointFacts,
  type LiveFacts,
  serviceDetailsOf,
  serviceRecordOf,
} from "../../views/services.ts";
import { findService, type Management } from "../lookups.ts";
import { type AfterAttempt, deletedOf } from "../pipes/leftovers.ts";
import {
  type ConnectionDeps,
  connectionChangeOf,
  newConnectionOf,
  noSizes,
  refuseQuota,
  refuseScaling,
} from "./external-services.ts";
import { judgeChange, type KubernetesDeps, kubernetesDefaults, newManagedOf } from "./kubernetes-services.ts";
import { refuseWhileMoving } from "./service-moves.ts";
import { serviceUserHandlers } from "./service-users.ts";

type Names = keyof typeof serviceOperations;

export type ServiceDeps = Pick<
  Stores,
  "services" | "serviceMoves" | "serviceFacts" | "leftovers" | "backups" | "restores"
> &
  ConnectionDeps &
  KubernetesDeps & {
    /** Where the service's own endpoint is. */
    readonly endpointOf: (service: Service) => EndpointFacts;
    readonly ports: Pick<ServicePorts, "pick" | "require">;
    readonly live: (service: Service) => LiveFacts;
    readonly noteOf: (service: Service) => string | undefined;
    /** Disk quota of new services, in GiB; undefined: none. */
    readonly defaultDiskGb: number | undefined;
    /** Triggers a pass of the reconciler and the gateway. */
    readonly poke: () => void;
    /** Resolves when the gateway has read the services, or after a short time. */
    readonly endpointsOpen: () => Promise<void>;
    readonly limits: OrganizationLimits;
    readonly afterAttempt: AfterAttempt;
  };

type CreateBody = Input<ManagementOperations["createService"]>["body"];

const deletable = ["provisioning", "starting", "awaking", "idle", "stopped", "degraded", "failed"];

export function serviceHandlers(deps: ServiceDeps): Management<Names> {
  return { ...recordHandlers(deps), ...stateHandlers(deps), ...serviceUserHandlers(deps) };
}

function recordHandlers(
  deps: ServiceDeps,
): Management<"listServices" | "createService" | "getService" | "updateService"> {
  const { services } = deps;
  return {
    listServices: async ({ params, query }, context) => {
      const factsOf = await deps.serviceFacts.of(params.organizationId);
      const all = await services.listIn(params.organizationId);
      const listed = all.map((service) => detailsWith(deps, service, factsOf(service.id))).filter(filterOf(query));
      const { items, nextCursor } = pageOf(listed, (service) => ({ value: service[query.sort], id: service.id }), {
        sorting: `${query.sort} ${query.order}`,
        isDescending: query.order === "desc",
        limit: query.limit ?? listed.length,
        cursor: query.cursor,
      });
      if (nextCursor !== undefined) context.continueAt(nextCursor);
      return [...items];
    },
    createService: async ({ params, body }, { signal }) => {
      const password = newSecret();
      const wanted = await newServiceOf(deps, params.organizationId, body, password, signal);
      const id = await services.create(wanted, deps.limits);
      deps.poke();
      // A client that connects as soon as it gets the endpoint must not be refused.
      await deps.endpointsOpen();
      return { service: await details(deps, await findService(deps, { ...params, serviceId: id })), password };
    },
    getService: async ({ params }) => details(deps, await findService(deps, params)),
    updateService: async ({ params, body }, { expected, signal }) => {
      const service = await findService(deps, params);
      refuseQuota(service, body.diskGb);
      const { name, ipAccessList, tags, releaseChannel, port } = withoutNulls(body);
      if (port !== undefined && port !== service.port) await deps.ports.require(port, params.organizationId);
      const change = {
        ...(await connectionChangeOf(deps, service, body.connection, signal)),
        name,
        port,
        releaseChannel,
        diskGb: body.diskGb,
        ipAccessList: changedList("ipAccessList", service.ipAccessList, ipAccessList, (entry) => entry.source),
        tags: changedList("tags", service.tags, tags, (entry) => entry.key),
      };
      if (body.diskGb !== undefined) await judgeChange(deps, service, change);
      await services.change(service.id, change, expected);
      deps.poke();
      if (port !== undefined) await deps.endpointsOpen();
      return await details(deps, await findService(deps, params));
    },
  };
}

function stateHandlers(deps: ServiceDeps): Management<"deleteService" | "updateServiceState" | "updateServiceScaling"> {
  const { services } = deps;
  return {
    deleteService: async ({ params }, { signal, expected }) => {
      const service = await findService(deps, params);
      if (!deletable.includes(service.state)) {
        const states = deletable.map((state) => `'${state}'`).join(",");
        throw new AppError(
          "CONFLICT",
          `Only services in one of the following states: ${states} can be terminated. Current state: '${service.state}'`,
        );
      }
      await refuseWhileMoving(deps.serviceMoves, service.id, "whole");
      await services.setDesired(service.id, "deleted", expected);
      deps.poke();
      const list = () => deps.leftovers.ofService(service.id);
      return await deletedOf(deps.afterAttempt, { list, isGone: async () => true }, signal);
    },
    updateServiceState: async ({ params, body }, { expected }) => {
      const service = await findService(deps, params);
      // Also for commands that have nothing to write.
      requireVersion("service", service.version, expected);
      await refuseWhileMoving(deps.serviceMoves, service.id, "switch");
      await command(services, service, body.command, expected);
      deps.poke();
      return serviceRecordOf(await findService(deps, params), deps.endpointOf(service));
    },
    updateServiceScaling: async ({ params, body }, { expected }) => {
      const service = await findService(deps, params);
      refuseScaling(service, body);
      refuseReplicas(service.runtime, body.numReplicas);
      const sizes = !traitsOf(service).hasSizes
        ? noSizes
        : memorySizes(
            {
              minReplicaMemoryGb:
                body.minReplicaMemoryGb ?? Math.min(service.minReplicaMemoryGb, body.maxReplicaMemoryGb ?? 356),
              maxReplicaMemoryGb:
                body.maxReplicaMemoryGb ?? Math.max(service.maxReplicaMemoryGb, body.minReplicaMemoryGb ?? 0),
            },
            defaultMemoryGb(),
          );
      const change = {
        minReplicaMemoryGb: sizes.min,
        maxReplicaMemoryGb: sizes.max,
        numReplicas: body.numReplicas,
        idleScaling: body.idleScaling,
        idleTimeoutMinutes: body.idleTimeoutMinutes,
      };
      await judgeChange(deps, service, change);
      await services.scale(service, change, deps.limits.memoryGb, expected);
      deps.poke();
      return await details(deps, await findService(deps, params));
    },
  };
}

async function details(deps: ServiceDeps, service: Service) {
  const factsOf = await deps.serviceFacts.of(service.organizationId);
  return detailsWith(deps, service, factsOf(service.id), deps.noteOf(service));
}

function detailsWith(deps: ServiceDeps, service: Service, facts: ServiceFacts, note?: string) {
  return serviceDetailsOf(service, deps.endpointOf(service), { ...deps.live(service), ...facts }, note);
}

type ListQuery = Input<ManagementOperations["listServices"]>["query"];

type Listed = Pick<Service, "name" | "tags"> & { readonly state: string };

/** Filters by the state that is shown, which may differ from the stored one. */
function filterOf({ state, name, filter = [] }: ListQuery): (service: Listed) => boolean {
  const states: ReadonlySet<string> | undefined = state && new Set(state);
  const text = name?.toLowerCase();
  const tags = filter.map(tagFilter);
  return (service) =>
    (states?.has(service.state) ?? true) &&
    (text === undefined || service.name.toLowerCase().includes(text)) &&
    tags.every((holds) => service.tags.some(holds));
}

/** The test of `tag:KEY` or `tag:KEY=VALUE`. A tag without a value has the empty one. */
function tagFilter(filter: string): (tag: Tag) => boolean {
  const [key, ...value] = filter.slice("tag:".length).split("=");
  return (tag) => tag.key === key && (value.length === 0 || (tag.value ?? "") === value.join("="));
}

/** The request with defaults filled in. Refuses unsupported sizes. */
async function newServiceOf(
  deps: ServiceDeps,
  organizationId: string,
  body: CreateBody,
  password: string,
  signal: AbortSignal,
): Promise<NewService> {
  const { connection, runtime = defaultRuntime } = body;
  const { isInCluster, isOwnProcess } = runtimeTraits[runtime];
  const external = connection == null ? undefined : await newConnectionOf(deps, connection, signal);
  const defaultGb = isInCluster ? kubernetesDefaults.memoryGb : defaultMemoryGb();
  const sizes = external === undefined ? memorySizes(body, defaultGb) : noSizes;
  refuseReplicas(runtime, body.numReplicas);
  const fill = await fillFrom(deps, organizationId, body);
  const diskGb = body.diskGb ?? deps.defaultDiskGb;
  const service: NewService = {
    organizationId,
    name: body.name,
    provider: body.provider ?? "local",
    region: body.region ?? "local",
    port: await portFor(deps, organizationId, body.port),
    minReplicaMemoryGb: sizes.min,
    maxReplicaMemoryGb: sizes.max,
    numReplicas: body.numReplicas ?? 1,
    // A client of pods waits for minutes when they are woken: only whoever asks for it gets it.
    idleScaling: external === undefined && (body.idleScaling ?? isOwnProcess),
    idleTimeoutMinutes: body.idleTimeoutMinutes ?? 15,
    ipAccessList: body.ipAccessList ?? anywhere,
    tags: body.tags ?? [],
    releaseChannel: body.releaseChannel,
    diskGb: external === undefined ? (diskGb ?? (isInCluster ? kubernetesDefaults.diskGb : undefined)) : undefined,
    passwordSha256: sha256Hex(password),
    ...(fill === undefined ? {} : { alongside: fill }),
    ...(external === undefined ? {} : { external }),
  };
  return isInCluster ? { ...service, external: await newManagedOf(deps, service) } : service;
}

async function portFor({ ports }: ServiceDeps, organizationId: string, wanted: number | undefined): Promise<number> {
  if (wanted === undefined) return await ports.pick();
  await ports.require(wanted, organizationId);
  return wanted;
}

type FillBody = { backupId?: string | undefined; restorePipes?: PipesChoice | undefined; force?: boolean | undefined };

/** Requests a restore into the new service; refuses an unsuitable backup. */
async function fillFrom(deps: ServiceDeps, organizationId: string, body: FillBody): Promise<NewService["alongside"]> {
  if (body.backupId === undefined) return undefined;
  const backup = found(await deps.backups.findIn(organizationId, body.backupId), "Backup", body.backupId);
  assertRestorable(backup, body.force === true);
  return async (tx, serviceId) => {
    const pipes = body.restorePipes ?? "stopped";
    const forced = body.force === true;
    await deps.restores.request({ backupId: backup.id, serviceId, scope: "service", forced, pipes }, tx);
  };
}

/** `start` does not wake an idle service and `awake` does not start a stopped one, as in the ClickHouse Cloud API. */
async function command(
  services: ServiceStore,
  service: Service,
  name: "start" | "stop" | "awake",
  expected: ExpectedVersions,
): Promise<void> {
  if (name === "stop") return await services.setDesired(service.id, "stopped", expected);
  if (name === "start") {
    if (service.desiredState !== "running") await services.setDesired(service.id, "running", expected);
    // Starting a failed service means "try again": it resets the count of deaths.
    else if (service.state === "failed") await services.requestWake(service.id);
    return;
  }
  if (service.desiredState !== "running") {
    throw new AppError("CONFLICT", `Only an idle service can be woken. Current state: '${service.state}'`);
  }
  if (service.state === "idle") await services.requestWake(service.id);
}

function memorySizes(
  body: { minReplicaMemoryGb?: number; maxReplicaMemoryGb?: number },
  defaultGb: number,
): { min: number; max: number } {
  const max = body.maxReplicaMemoryGb ?? Math.max(defaultGb, body.minReplicaMemoryGb ?? 0);
  const min = body.minReplicaMemoryGb ?? Math.min(max, defaultGb);
  if (min <= max) return { min, max };
  throw badRequest("minReplicaMemoryGb", "must not be greater than maxReplicaMemoryGb");
}

function refuseReplicas(runtime: Service["runtime"], numReplicas: number | undefined): void {
  if (runtimeTraits[runtime].isInCluster || numReplicas === undefined || numReplicas === 1) return;
  throw badRequest("numReplicas", "must be 1: the embedded engine runs one replica; more need a ClickHouse cluster");
}

/** `remove` is applied before `add`; both match entries by key. Undefined: no change. Throws BAD_REQUEST. */
function changedList<T>(
  member: keyof typeof listLimits,
  current: readonly T[],
  change: { add?: T[] | undefined; remove?: T[] | undefined } | undefined,
  keyOf: (entry: T) => string,
): T[] | undefined {
  if (change === undefined) return undefined;
  const entries = new Map(current.map((entry) => [keyOf(entry), entry]));
  for (const entry of change.remove ?? []) entries.delete(keyOf(entry));
  for (const entry of change.add ?? []) entries.set(keyOf(entry), entry);
  const most = listLimits[member];
  if (entries.size > most)
    throw badRequest(`${member}.add`, `makes ${entries.size} entries; a service has at most ${most}`);
  return [...entries.values()];
}
