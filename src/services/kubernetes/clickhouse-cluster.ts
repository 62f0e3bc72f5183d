/**
 * The operator of ClickHouse Inc. (`clickhouse.com/v1alpha1`, experimental): a service is one `ClickHouseCluster`, and
 * one `KeeperCluster`, which each of them needs for itself. It has no field that stops pods.
 */
import { anywhere, sourcesOf } from "../../api/ip-access.ts";
import { dedupWindow, dedupWindowSeconds } from "../../clickhouse/table-form.ts";
import { bracketed } from "../../lib/host-list.ts";
import type { Json } from "../../lib/json.ts";
import {
  defaultVolumeGb,
  type InstallationSettings,
  installationName,
  metadataOf,
  ownUser,
  readerProfile,
  resourcesOf,
  volumeClaimOf,
  type Wanted,
} from "./installation.ts";
import type { ManagedObject } from "./objects.ts";
import type { ClusterOperator } from "./operator.ts";
import type { Pod } from "./pods.ts";
import type { Phase } from "./status.ts";

const apiVersion = "clickhouse.com/v1alpha1";
const keeperVolumeGb = 10;
/** The operator gives it no password, and all rights. */
const localUser = "default";

/** The read members of `status`. */
export type ClusterStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
};

export function clickHouseOperator(settings: InstallationSettings): ClusterOperator {
  return {
    name: "clickhouse",
    product: "the ClickHouse operator of ClickHouse Inc.",
    resources: [
      { apiVersion, kind: "KeeperCluster" },
      { apiVersion, kind: "ClickHouseCluster" },
    ],
    canStop: false,
    whyOneReplica: "replicas are not available with the operator of ClickHouse Inc.",
    cluster: undefined,
    objectsOf: (wanted) => [keeperOf(wanted, settings), clusterOf(wanted, settings)],
    renewed: (wanted) => wanted,
    phaseOf,
    progressOf,
    podsOf: (name) => `app=${name}-clickhouse`,
    // Its status has no names of hosts.
    hostsOf: async (_, pods) => (await pods()).flatMap(httpAddressOf),
  };
}

/** The number of replicas is left to the operator. */
function keeperOf(wanted: Wanted, settings: InstallationSettings): ManagedObject {
  const spec = { dataVolumeClaimSpec: volumeClaimOf(keeperVolumeGb, settings) };
  return { apiVersion, kind: "KeeperCluster", metadata: metadataOf(wanted, settings), spec };
}

function clusterOf(wanted: Wanted, settings: InstallationSettings): ManagedObject {
  const { id, numReplicas, diskGb } = wanted;
  return {
    apiVersion,
    kind: "ClickHouseCluster",
    metadata: metadataOf(wanted, settings),
    spec: {
      replicas: numReplicas,
      shards: 1,
      keeperClusterRef: { name: installationName(id) },
      containerTemplate: {
        image: imageOf(settings.image),
        resources: resources(wanted),
      },
      dataVolumeClaimSpec: volumeClaimOf(diskGb ?? defaultVolumeGb, settings),
      settings: {
        extraConfig: {
          merge_tree: {
            non_replicated_deduplication_window: dedupWindow,
            replicated_deduplication_window: dedupWindow,
            replicated_deduplication_window_seconds: dedupWindowSeconds,
          },
        },
        extraUsersConfig: { users: usersOf(wanted), profiles: { [readerProfile]: { readonly: 2 } } },
      },
    },
  };
}

/** The operator fills in a limit of one processor, which a larger request exceeds. */
function resources({ maxReplicaMemoryGb }: Wanted): Json {
  const { requests, limits } = resourcesOf({ maxReplicaMemoryGb });
  const cpu = `${Math.max(1000, Number.parseInt(requests.cpu, 10))}m`;
  return { requests, limits: { ...limits, cpu } };
}

/**
 * `repository:tag`; the port of a registry is no tag. The configuration refuses digests, to which the operator adds its
 * own tag.
 */
function imageOf(image: string): Json {
  const [, name = image, tag] = /^(.*?)(?::([^/:]*))?$/.exec(image) ?? [];
  return tag === undefined ? { repository: name } : { repository: name, tag };
}

function usersOf({ users, ipAccessList, ownPasswordSha256 }: Wanted): Json {
  const member = (passwordSha256: string, profile: string, sources: readonly string[]): Json => ({
    password_sha256_hex: passwordSha256,
    networks: { ip: sources },
    profile,
    quota: "default",
  });
  const others = users
    // A user with grants in an embedded engine must not become one with all rights.
    .filter(({ name, rights }) => name !== localUser && name !== ownUser && rights === null)
    .map(({ name, passwordSha256, readonly }) => {
      const profile = readonly ? readerProfile : "default";
      return [name, member(passwordSha256, profile, sourcesOf(ipAccessList))] as const;
    });
  return {
    [localUser]: { networks: { ip: ["127.0.0.1", "::1"] } },
    [ownUser]: member(ownPasswordSha256, "default", sourcesOf(anywhere)),
    ...Object.fromEntries(others),
  };
}

function phaseOf(found: ManagedObject): Phase {
  const { observedGeneration, conditions = [] } = statusOf(found);
  if (observedGeneration === undefined || observedGeneration !== found.metadata.generation) return "unseen";
  const is = (type: string, status: string) => conditions.some((one) => one.type === type && one.status === status);
  if (is("SpecValid", "False")) return "aborted";
  // Until the pods have the new configuration, those of the old one answer.
  const isOld = ["ConfigurationInSync", "ReconcileSucceeded"].some((type) => is(type, "False") || is(type, "Unknown"));
  return is("Ready", "True") && !isOld ? "completed" : "working";
}

function progressOf(found: ManagedObject): string {
  if (phaseOf(found) === "unseen") {
    return "the ClickHouse operator has not answered yet; check that it watches this namespace";
  }
  const failing = (statusOf(found).conditions ?? []).filter(({ status }) => status === "False");
  if (failing.length === 0) return "the ClickHouse operator is at work";
  const said = failing.map(({ type, message = "" }) => `${type} is False${message === "" ? "" : `, ${message}`}`);
  return `the ClickHouse operator says ${said.join("; ").slice(0, 500)}`;
}

function statusOf({ status = {} }: ManagedObject): ClusterStatus {
  return status;
}

/** Of a pod that is ready; names that the operator might give are not guessed. */
function httpAddressOf({ spec, status }: Pod): string[] {
  const isReady = status?.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True") === true;
  if (!isReady || status?.podIP === undefined) return [];
  const ports = (spec?.containers ?? []).flatMap(({ ports: all = [] }) => all);
  const port = ports.find(({ name }) => name === "http")?.containerPort;
  if (port === undefined) return [];
  return [`${bracketed(status.podIP)}:${port}`];
}
