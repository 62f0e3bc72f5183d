/** What services and pipes of an organization are, as lists show it, for alerts. Wakes no service. */
import { statfs } from "node:fs/promises";
import { traitsOf } from "../api/runtimes.ts";
import { backupsByService, newestGoodAt } from "../backups/metrics.ts";
import type { Endpoint } from "../endpoint/open.ts";
import type { Pipes } from "../pipes/control/open.ts";
import type { ServiceAccess } from "../services/access.ts";
import type { ServiceDisks } from "../services/disks.ts";
import { memoryNote } from "../services/memory.ts";
import type { Stores } from "../store/open.ts";
import type { Service } from "../store/services/services.ts";
import { asShown } from "./views/pipe-state.ts";
import { pipeSummaryOf } from "./views/pipe-summaries.ts";
import { type LiveFacts, serviceStatesOf } from "./views/services.ts";

type LiveParts = {
  readonly services: {
    readonly access: Pick<ServiceAccess, "lastActivityAt" | "engines">;
    readonly disks: ServiceDisks;
  };
  readonly endpoint: Pick<Endpoint, "problemOf">;
};

/** Facts about services that are not stored. */
export function liveFactsOf({ services: { access, disks }, endpoint }: LiveParts): (row: Service) => LiveFacts {
  return (row) => ({
    lastActivityAt: access.lastActivityAt(row.id),
    diskUsedBytes: disks.usedBytes(row),
    diskProblem: disks.problem(row),
    endpointProblem: endpoint.problemOf(row.id),
  });
}

/** What a page of one service says beside its state. */
export function noteReader({ services: { access } }: LiveParts): (row: Service) => string | undefined {
  return (row) =>
    traitsOf(row).isOwnProcess ? memoryNote(row, access.engines().get(row.id)?.process?.memoryGb) : undefined;
}

type StateParts = LiveParts & {
  readonly stores: Pick<Stores, "services" | "serviceFacts" | "pipeOverviews" | "backups">;
  readonly pipes: Pick<Pipes, "vitals">;
  readonly dataDir: string;
};

/** Reads the states of an organization. */
export function stateReader({ stores, pipes, dataDir, ...parts }: StateParts) {
  const live = liveFactsOf(parts);
  return async (organizationId: string) => {
    const services = await stores.services.listIn(organizationId);
    const factsOf = await stores.serviceFacts.of(organizationId);
    const backups = backupsByService(await stores.backups.listInOrganization(organizationId), services);
    const { blocks, bavail } = await statfs(dataDir);
    const overviews = (await stores.pipeOverviews.listIn(organizationId)).map(asShown);
    return {
      services: services.map((service) => ({
        ...{ id: service.id, name: service.name },
        ...serviceStatesOf(service, { ...live(service), ...factsOf(service.id) }),
        backedUpAt: backupTimeOf(service, backups.get(service.id)),
        // Tables of other servers are not on this disk.
        serverDiskFree: traitsOf(service).isOwnProcess ? bavail / blocks : undefined,
      })),
      pipes: overviews.map((pipe) => pipeSummaryOf({ pipe, vitals: pipes.vitals.of(pipe.id) })),
    };
  };
}

/** In ms; of a service without a good backup its creation. Undefined: it is not backed up here. */
function backupTimeOf({ createdAt }: Service, backups: Parameters<typeof newestGoodAt>[0] | undefined) {
  return backups && (newestGoodAt(backups) || Date.parse(createdAt));
}
