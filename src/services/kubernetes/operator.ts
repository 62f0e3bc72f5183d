/** An operator in the cluster, which makes the pods of a service from objects that Millrace writes. */
import type { Wanted } from "./installation.ts";
import type { ManagedObject, Resource } from "./objects.ts";
import type { Pod } from "./pods.ts";
import type { Phase } from "./status.ts";

export const operatorNames = ["altinity", "clickhouse"] as const;
export type OperatorName = (typeof operatorNames)[number];

export type ClusterOperator = {
  readonly name: OperatorName;
  /** What is to be installed where the cluster does not know the resource. */
  readonly product: string;
  /** The kinds of a service's objects, in the order in which they are written; the last one is observed. */
  readonly resources: readonly [...others: Resource[], observed: Resource];
  /** False: pods run until the service is deleted. */
  readonly canStop: boolean;
  /** Why services have one replica; undefined: they may have more. */
  readonly whyOneReplica: string | undefined;
  /** The cluster on which tables are made; undefined: on one server. */
  readonly cluster: string | undefined;
  /** One object per resource. The same service always gives the same objects. */
  objectsOf(wanted: Wanted, stop: "yes" | "no"): readonly [...others: ManagedObject[], observed: ManagedObject];
  /** The object as it is written over what is there. */
  renewed(wanted: ManagedObject, found: ManagedObject | undefined): ManagedObject;
  phaseOf(found: ManagedObject): Phase;
  /** One clause for users. */
  progressOf(found: ManagedObject): string;
  /** The selector of a service's pods. */
  podsOf(name: string): string;
  /** Hosts and ports of the HTTP interface, as far as they are known. */
  hostsOf(found: ManagedObject, pods: () => Promise<readonly Pod[]>): Promise<readonly string[]>;
};
