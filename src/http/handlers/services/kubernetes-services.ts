/** Services in Kubernetes: the API server judges them before they are stored. */

import { randomUUID } from "node:crypto";
import { traitsOf } from "../../../api/runtimes.ts";
import { badRequest } from "../../../lib/errors.ts";
import { newSecret } from "../../../store/database/secrets.ts";
import type { ConnectionPasswords, NewManaged } from "../../../store/services/service-connections.ts";
import type { NewService, Service, ServiceChange } from "../../../store/services/services.ts";

type Judged = Pick<Service, "id" | "ipAccessList" | "maxReplicaMemoryGb" | "numReplicas" | "diskGb">;

export type Kubernetes = {
  /** Why services have one replica; undefined: they may have more. */
  readonly whyOneReplica: string | undefined;
  /** Throws KUBERNETES_* with the members that the cluster refuses. */
  check(service: Judged & { readonly users: readonly [] }): Promise<void>;
};

export type KubernetesDeps = {
  /** Undefined: this server runs no services in Kubernetes. */
  readonly kubernetes?: Kubernetes | undefined;
  readonly connectionPasswords: ConnectionPasswords;
};

/** Sizes of services that are created without: memory as in the smallest service of ClickHouse Cloud. */
export const kubernetesDefaults = { memoryGb: 8, diskGb: 100 };

/** What makes a new service one of the cluster. Throws BAD_REQUEST and KUBERNETES_*. */
export async function newManagedOf(deps: KubernetesDeps, service: NewService): Promise<NewManaged> {
  const { ipAccessList, maxReplicaMemoryGb, numReplicas, diskGb = null } = service;
  await judge(deps, { id: randomUUID(), ipAccessList, maxReplicaMemoryGb, numReplicas, diskGb });
  const password = newSecret();
  return { runtime: "kubernetes", sealFor: (serviceId) => deps.connectionPasswords.seal(serviceId, password) };
}

/** Throws BAD_REQUEST and KUBERNETES_* for a change that the cluster would refuse; other services may change. */
export async function judgeChange(deps: KubernetesDeps, service: Service, change: ServiceChange): Promise<void> {
  if (!traitsOf(service).isInCluster) return;
  const { diskGb } = change;
  if (diskGb !== undefined && (diskGb === null || diskGb < (service.diskGb ?? 0))) {
    throw badRequest("diskGb", `must be at least ${service.diskGb}: the volumes of a service in Kubernetes only grow`);
  }
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  await judge(deps, { ...service, ...Object.fromEntries(given) });
}

async function judge({ kubernetes }: KubernetesDeps, service: Judged): Promise<void> {
  if (kubernetes === undefined) {
    throw badRequest("runtime", "must be embedded or external: this server was started without --kubernetes-namespace");
  }
  if (service.numReplicas > 1 && kubernetes.whyOneReplica !== undefined) {
    throw badRequest("numReplicas", `must be 1: ${kubernetes.whyOneReplica}`);
  }
  const { id, ipAccessList, maxReplicaMemoryGb, numReplicas, diskGb } = service;
  await kubernetes.check({ id, ipAccessList, maxReplicaMemoryGb, numReplicas, diskGb, users: [] });
}
