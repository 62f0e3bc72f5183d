/** The Altinity operator: a service is one `ClickHouseInstallation`. */
import { randomBytes } from "node:crypto";
import { clusterName, type InstallationSettings, installationDigest, installationOf } from "./installation.ts";
import { type Installation, installationKind, type ManagedObject } from "./objects.ts";
import type { ClusterOperator } from "./operator.ts";
import { phaseOf, progressOf } from "./status.ts";

export function altinityOperator(settings: InstallationSettings): ClusterOperator {
  const hasKeeper = settings.keeper.length > 0;
  return {
    name: "altinity",
    product: "the Altinity operator for ClickHouse",
    resources: [installationKind],
    canStop: true,
    whyOneReplica: hasKeeper ? undefined : "more replicas need ClickHouse Keeper, which --kubernetes-keeper names",
    // With Keeper, tables are replicated from the beginning.
    cluster: hasKeeper ? clusterName : undefined,
    objectsOf: (wanted, stop) => [installationOf(wanted, stop, settings)],
    renewed,
    phaseOf: (found) => phaseOf(found as Installation),
    progressOf: (found) => progressOf(found as Installation),
    podsOf: (name) => `clickhouse.altinity.com/chi=${name}`,
    hostsOf: async (found) => (found as Installation).status?.fqdns ?? [],
  };
}

/**
 * Written again with the same content, it keeps its task and its generation. After a task that was given up it gets
 * another one: the operator would not begin again otherwise.
 */
export function renewed(wanted: ManagedObject, found: ManagedObject | undefined): ManagedObject {
  const content = installationDigest(wanted);
  const present = found as Installation | undefined;
  const before = present === undefined || phaseOf(present) === "aborted" ? undefined : present.spec.taskID;
  const taskID = before?.startsWith(`${content}-`) ? before : `${content}-${randomBytes(4).toString("hex")}`;
  return { ...wanted, spec: { taskID, ...wanted.spec } };
}
