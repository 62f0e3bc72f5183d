/** Stored objects without a server: an organization, a service and a pipe. */
import type { Stores } from "../src/store/open.ts";
import { limits } from "./limits.ts";

let port = 30_000;

/** Adds a service to the store's organization, which is created first if there is none; its id. */
export async function newService({ organizations, services }: Pick<Stores, "organizations" | "services">) {
  const [organization = await organizations.create("o")] = await organizations.list();
  port += 1;
  return await services.create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
}

/** Adds a pipe, to a service of its own unless one is given; its id. `most`: the limit of pipes. */
export async function newPipe(
  stores: Pick<Stores, "organizations" | "services" | "pipes">,
  serviceId?: string,
  most: number = limits.pipes.most,
): Promise<string> {
  return await stores.pipes.create(
    {
      ...{ serviceId: serviceId ?? (await newService(stores)), name: "p", sourceKind: "objectStorage" },
      ...{ source: { objectStorage: { url: "http://h/b/*" } }, secrets: {}, roles: undefined },
      ...{ destination: { table: "t" }, fieldMappings: [], scaling: {}, settings: {} },
    },
    { ...limits.pipes, most },
  );
}
