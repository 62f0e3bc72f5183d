/** A service as a `ClickHouseInstallation` of the Altinity operator. */
import { createHash, randomBytes } from "node:crypto";
import { anywhere, sourcesOf } from "../../api/ip-access.ts";
import { dedupWindow, dedupWindowSeconds } from "../../clickhouse/table-form.ts";
import type { Json } from "../../lib/json.ts";
import type { ServiceUser } from "../../store/services/service-users.ts";
import type { Service } from "../../store/services/services.ts";
import { type Installation, installationKind } from "./objects.ts";
import { phaseOf } from "./status.ts";

/** The cluster of every installation, and the user that Millrace itself logs in as. */
export const clusterName = "main";
export const ownUser = "millrace";

/** The setting `--kubernetes-keeper` allows replicas, whose tables are replicated from the beginning. */
export function clusterOf({ keeper }: InstallationSettings): string | undefined {
  return keeper.length === 0 ? undefined : clusterName;
}

/** Users of installations that no user of a service replaces: ours, and that of the operator. */
const reservedUsers = new Set([ownUser, "clickhouse_operator"]);
/** The profile of read-only users. */
const readerProfile = "millrace_reader";
/** As in ClickHouse Cloud: one processor for 4 GiB. It is requested, and not a limit. */
const milliCpuPerGb = 250;

export type InstallationSettings = {
  readonly namespace: string;
  readonly image: string;
  /** Undefined: the cluster's default. */
  readonly storageClass: string | undefined;
  /** ClickHouse Keeper or ZooKeeper. Without it, services have one replica and their tables are not replicated. */
  readonly keeper: readonly { readonly host: string; readonly port: number }[];
  /** Whether the volumes are kept when a service is deleted. */
  readonly volumes: "retain" | "delete";
};

/** The stored members that an installation is made of. */
export type Wanted = Pick<Service, "id" | "ipAccessList" | "maxReplicaMemoryGb" | "numReplicas"> & {
  readonly diskGb: number | null;
  readonly users: readonly Pick<ServiceUser, "name" | "passwordSha256" | "readonly" | "rights">[];
  /** The hash of the password of `ownUser`, in hexadecimal. */
  readonly ownPasswordSha256: string;
};

/** A service that was created without `diskGb` gets as much. */
const defaultVolumeGb = 100;

export function installationName(serviceId: string): string {
  return `mr-${serviceId.replaceAll("-", "").slice(0, 12)}`;
}

function metadataOf({ id }: Wanted, { namespace }: InstallationSettings) {
  const labels = { "app.kubernetes.io/managed-by": "millrace", "millrace/service-id": id };
  return { name: installationName(id), namespace, labels };
}

/** What a pod requests, and its limits. */
function resourcesOf({ maxReplicaMemoryGb }: Wanted) {
  const memory = `${maxReplicaMemoryGb}Gi`;
  const cpu = `${maxReplicaMemoryGb * milliCpuPerGb}m`;
  return { requests: { memory, cpu }, limits: { memory } };
}

/** The claim of a volume. */
function volumeClaimOf(sizeGb: number, { storageClass }: InstallationSettings) {
  return {
    accessModes: ["ReadWriteOnce"],
    ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
    resources: { requests: { storage: `${sizeGb}Gi` } },
  };
}

/** Without a `taskID`. The same service always gives the same installation. */
export function installationOf(wanted: Wanted, stop: "yes" | "no", settings: InstallationSettings): Installation {
  return {
    ...installationKind,
    metadata: metadataOf(wanted, settings),
    spec: {
      stop,
      defaults: { templates: { podTemplate: "clickhouse", dataVolumeClaimTemplate: "data" } },
      configuration: configurationOf(wanted, settings),
      templates: templatesOf(wanted, settings),
    },
  };
}

/** Equal for objects with the same content; `taskID` does not count. */
export function installationDigest({ spec: { taskID: _, ...spec } }: Installation): string {
  return createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16);
}

/**
 * The installation as it is written over what is there. With the same content, it keeps its task and its generation.
 * After a task that was given up it gets another one: the operator would not begin again otherwise.
 */
export function renewed(wanted: Installation, found: Installation | undefined): Installation {
  const content = installationDigest(wanted);
  const before = found === undefined || phaseOf(found) === "aborted" ? undefined : found.spec.taskID;
  const taskID = before?.startsWith(`${content}-`) ? before : `${content}-${randomBytes(4).toString("hex")}`;
  return { ...wanted, spec: { taskID, ...wanted.spec } };
}

function configurationOf(wanted: Wanted, { keeper }: InstallationSettings): Json {
  return {
    users: usersOf(wanted),
    profiles: { [`${readerProfile}/readonly`]: "2" },
    settings: {
      // Tables of users too repeat no insert that a pipe, or a client of theirs, sends twice.
      "merge_tree/non_replicated_deduplication_window": String(dedupWindow),
      "merge_tree/replicated_deduplication_window": String(dedupWindow),
      "merge_tree/replicated_deduplication_window_seconds": String(dedupWindowSeconds),
    },
    ...(keeper.length === 0 ? {} : { zookeeper: { nodes: keeper.map(({ host, port }) => ({ host, port })) } }),
    clusters: [{ name: clusterName, layout: { shardsCount: 1, replicasCount: wanted.numReplicas } }],
  };
}

/** The service's users log in inside of the cluster with the passwords that the endpoint of Millrace takes. */
function usersOf({ users, ipAccessList, ownPasswordSha256 }: Wanted): Json {
  const anyone = sourcesOf(anywhere);
  const members = [
    ...userMembers(ownUser, ownPasswordSha256, "default", anyone),
    ...users
      // A user with grants in an embedded engine must not become one with all rights.
      .filter(({ name, rights }) => !reservedUsers.has(name) && rights === null)
      .flatMap(({ name, passwordSha256, readonly }) =>
        userMembers(name, passwordSha256, readonly ? readerProfile : "default", sourcesOf(ipAccessList)),
      ),
  ];
  return Object.fromEntries(members);
}

function userMembers(name: string, passwordSha256: string, profile: string, sources: readonly string[]) {
  return [
    [`${name}/password_sha256_hex`, passwordSha256],
    [`${name}/networks/ip`, sources],
    [`${name}/profile`, profile],
    [`${name}/quota`, "default"],
  ] as const;
}

function templatesOf(wanted: Wanted, settings: InstallationSettings): Json {
  const { image, volumes } = settings;
  const resources = resourcesOf(wanted);
  return {
    podTemplates: [{ name: "clickhouse", spec: { containers: [{ name: "clickhouse", image, resources }] } }],
    volumeClaimTemplates: [
      {
        name: "data",
        reclaimPolicy: volumes === "retain" ? "Retain" : "Delete",
        spec: volumeClaimOf(wanted.diskGb ?? defaultVolumeGb, settings),
      },
    ],
  };
}
