/** What records of the dialect have in addition, or show otherwise. All names are ours; renaming follows. */
import type { JsonObject } from "../lib/json.ts";
import { type CloudForm, completedDwellMs, unknownToClients } from "./dialect.ts";
import { changedAt, isObject } from "./members.ts";

export const recordViews: Readonly<Partial<Record<CloudForm, (record: JsonObject) => unknown>>> = {
  organization: (record) => ({ ...record, privateEndpoints: [], enableCoreDumps: false }),
  key: keyView,
  service: serviceView,
  pipe: (record) => pipeView(record, Date.now()),
  backupConfiguration: (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
};

function keyView(record: JsonObject): object {
  const assignedRoles = (record.roles as string[]).map((roleName) => ({ roleName, roleType: "system" }));
  return { ...record, assignedRoles };
}

function serviceView(record: JsonObject): object {
  const { minTotalMemoryGb: _, maxTotalMemoryGb: __, endpoints, ...rest } = record;
  const [min, max] = [record.minReplicaMemoryGb as number, record.maxReplicaMemoryGb as number];
  return {
    ...rest,
    ...totalOf("minTotalMemoryGb", min),
    ...totalOf("maxTotalMemoryGb", max),
    // The clients know no word for an endpoint without TLS, and look for this one.
    endpoints: (endpoints as JsonObject[]).map((endpoint) => ({ ...endpoint, protocol: secureName(endpoint) })),
    releaseChannel: record.releaseChannel ?? "default",
    autoscalingMode: "vertical",
    enableCoreDumps: false,
    currentScaling: {
      effectiveAutoscalingMode: "vertical",
      effectiveMinReplicaMemoryGb: min,
      effectiveMaxReplicaMemoryGb: max,
      effectiveMinReplicas: record.numReplicas,
      effectiveMaxReplicas: record.numReplicas,
    },
  };
}

function secureName({ protocol }: JsonObject): string {
  return protocol === "native" || protocol === "nativesecure" ? "nativesecure" : "https";
}

/** There a service has three workers. A total that is no valid size there is left out. */
function totalOf(name: string, replicaGb: number): object {
  const total = replicaGb * 3;
  return total >= 24 && total <= 1068 && total % 12 === 0 ? { [name]: total } : {};
}

/** `now` in ms since 1970. */
export function pipeView(record: JsonObject, now: number): unknown {
  const source = record.source as Readonly<Record<string, JsonObject | undefined>>;
  let view: unknown = { ...record, state: stateOf(record, source.objectStorage, now) };
  for (const [kind, names] of Object.entries(unknownToClients)) {
    for (const name of names) view = changedAt(view, `source.${kind}.${name}`, () => undefined);
  }
  return changedAt(view, "source.relationalDb", (config) => {
    const { settings, ...others } = config as JsonObject;
    // Clients read the mode without a look whether there are settings.
    return { ...others, settings: { replicationMode: "cdc", ...(isObject(settings) ? settings : {}) } };
  });
}

function stateOf({ state, createdAt }: JsonObject, objects: JsonObject | undefined, now: number): unknown {
  if (state !== "Completed" || objects === undefined || objects.isContinuous === true) return state;
  return now - Date.parse(createdAt as string) < completedDwellMs ? "Running" : state;
}
