/** One request of the dialect: members taken and renamed, our operations called, records shown in their names. */
import { AppError } from "../lib/errors.ts";
import { isObject, type JsonObject } from "../lib/json.ts";
import { type KeptValues, takeMembers } from "./accepted.ts";
import { type CloudForm, completedDwellMs, unknownToClients } from "./dialect.ts";
import { changedAt, membersAt, withMember } from "./members.ts";
import { errorInTheirs, toOurs, toTheirs } from "./names.ts";
import type { CallOperation, CloudRequest, CloudRoute } from "./route.ts";

/** Values that clients set, that have no effect, and that records show as they were set. */
export type CloudMembers = {
  /** The kept members, by the id of a service or pipe. */
  find(ids: readonly string[]): Promise<ReadonlyMap<string, KeptValues>>;
  /** Replaces values of the same paths; null removes one. */
  keep(object: { readonly kind: "service" | "pipe"; readonly id: string }, values: KeptValues): Promise<void>;
};

type Given = Pick<CloudRequest, "params" | "query" | "userAgent"> & { readonly body: unknown };

/** Throws AppError with the names of the dialect. */
export async function performCloudRequest(
  route: CloudRoute,
  given: Given,
  call: CallOperation,
  members: CloudMembers,
): Promise<unknown> {
  if (route.body !== undefined && !isObject(given.body)) {
    throw new AppError("BAD_REQUEST", "Invalid request body: must be an object");
  }
  const taken = takeMembers(route.id, given.body);
  const body = route.body?.form === undefined ? taken.body : toOurs(taken.body, route.body.form);
  const request = { ...given, body, kept: taken.kept };
  const result = await route.run(call, request).catch((error: unknown) => {
    throw errorInTheirs(error);
  });
  await keep(route, request, result, members);
  return await shown(route, result, members);
}

async function keep(route: CloudRoute, request: CloudRequest, result: unknown, members: CloudMembers): Promise<void> {
  const values = route.keptBy?.(request) ?? request.kept;
  if (Object.keys(values).length === 0) return;
  const { pipeId } = request.params;
  const record = membersAt(result, route.result?.at ?? "")[0]?.value as { id?: string };
  const kind = route.result?.form === "service" ? "service" : "pipe";
  const id = pipeId ?? record?.id;
  if (id !== undefined) await members.keep({ kind, id }, values);
}

async function shown({ result: placed }: CloudRoute, result: unknown, members: CloudMembers): Promise<unknown> {
  if (placed?.form === undefined) return result;
  const { at, form } = placed;
  const hasValues = form === "service" || form === "pipe";
  const ids = hasValues ? membersAt(result, at).map(({ value }) => (value as { id: string }).id) : [];
  const kept = await members.find(ids);
  return changedAt(result, at, (record) => recordOf(record as JsonObject, form, kept));
}

function recordOf(record: JsonObject, form: CloudForm, kept: ReadonlyMap<string, KeptValues>): unknown {
  const view = toTheirs(recordViews[form]?.(record) ?? record, form);
  const values = Object.entries(kept.get(String(record.id)) ?? {});
  return values.reduce((made, [path, value]) => withMember(made, path, value), view);
}

/** What records of the dialect have in addition, or show otherwise. All names are ours; renaming follows. */
const recordViews: Readonly<Partial<Record<CloudForm, (record: JsonObject) => unknown>>> = {
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

/** There a service has three workers. A total that is not a valid size there is left out. */
function totalOf(name: string, replicaGb: number): object {
  const total = replicaGb * 3;
  return total >= 24 && total <= 1068 && total % 12 === 0 ? { [name]: total } : {};
}

/** `now` in ms since 1970. */
function pipeView(record: JsonObject, now: number): unknown {
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
