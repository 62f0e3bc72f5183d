/** Objects of the operator in a cluster. */
import type { Json } from "../../lib/json.ts";

export const installationKind = {
  apiVersion: "clickhouse.altinity.com/v1",
  kind: "ClickHouseInstallation",
} as const;

/** The read members of the `status` of an installation. */
export type InstallationStatus = {
  readonly status?: string;
  readonly error?: string;
  readonly hosts?: number;
  readonly hostsCompleted?: number;
  readonly taskID?: string;
  readonly taskIDsCompleted?: readonly string[];
  /** DNS names of the hosts, one per shard and replica. */
  readonly fqdns?: readonly string[];
};

/** A `ClickHouseInstallation` of the Altinity operator, with the members that are written or read. */
export type Installation = typeof installationKind & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly generation?: number;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly [member: string]: Json | undefined;
    /** Changes with every change of the rest: the operator names those that it has completed. */
    readonly taskID?: string;
    readonly stop: "yes" | "no";
  };
  readonly status?: InstallationStatus;
};
