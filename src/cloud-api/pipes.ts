/** Requests about pipes that differ from ours by more than names. */
import type { JsonObject } from "../lib/json.ts";
import type { KeptValues } from "./accepted.ts";
import { replacingAgents } from "./dialect.ts";
import { isObject } from "./members.ts";
import type { CallOperation, CloudRequest, Run } from "./route.ts";
import { refused } from "./services.ts";

const readCommitted = "kafka_read_committed";
const keptReadCommitted = `settings.${readCommitted}`;

export const createCloudPipe: Run = (call, { params, body, kept }) => {
  refuseUnlessKafka(kept, isObject(body.source?.messageBroker));
  return call("createPipe", { params, body });
};

/** Tables are added and removed one by one; ours is the whole list. */
export const updateCloudPipe: Run = async (call, { params, body, kept }) => {
  const { tableMappingsToAdd, tableMappingsToRemove, ...config } = (body.source?.relationalDb ?? {}) as JsonObject;
  if (kept[keptReadCommitted] != null) refuseUnlessKafka(kept, await isKafka(call, params));
  if (tableMappingsToAdd == null && tableMappingsToRemove == null) return await call("updatePipe", { params, body });
  if (config.tableMappings != null) {
    throw refused("source.relationalDb.tableMappings", "cannot be combined with tables to add or to remove");
  }
  const [added, removed] = [
    mappingsIn("tableMappingsToAdd", tableMappingsToAdd),
    mappingsIn("tableMappingsToRemove", tableMappingsToRemove),
  ];
  const changed: JsonObject =
    added.length + removed.length === 0 ? {} : { tableMappings: await mappings(call, params, added, removed) };
  const source = { ...body.source, relationalDb: { ...config, ...changed } };
  return await call("updatePipe", { params, body: { ...body, source } });
};

type Mapping = JsonObject;

function mappingsIn(name: string, value: unknown): readonly Mapping[] {
  if (value == null) return [];
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw refused(`source.relationalDb.${name}`, "must be a list of tables");
}

async function mappings(
  call: CallOperation,
  params: CloudRequest["params"],
  added: readonly Mapping[],
  removed: readonly Mapping[],
): Promise<Mapping[]> {
  const { source } = await call("getPipe", { params });
  let left: Mapping[] = source.relationalDb?.tableMappings ?? [];
  for (const [index, wanted] of removed.entries()) {
    const others = left.filter((mapping) => !isSameTable(mapping, wanted));
    if (others.length === left.length) {
      const name = `${String(wanted.sourceSchemaName)}.${String(wanted.sourceTable)}`;
      throw refused(`source.relationalDb.tableMappingsToRemove.${index}`, `is ${name}, which the pipe does not have`);
    }
    left = others;
  }
  return [...left, ...added];
}

function isSameTable(mapping: Mapping, wanted: Mapping): boolean {
  if (mapping.sourceSchemaName !== wanted.sourceSchemaName || mapping.sourceTable !== wanted.sourceTable) return false;
  return wanted.targetTable == null || mapping.targetTable === wanted.targetTable;
}

/** A client changes settings of a Kafka pipe only when it finds this one among them. */
export const getCloudPipeSettings: Run = async (call, { params }) =>
  withReadCommitted(await call("getPipeSettings", { params }), await isKafka(call, params));

/**
 * Merges as ours does, with two differences: an empty body resets every setting, and the settings of some clients
 * replace the former ones.
 */
export const updateCloudPipeSettings: Run = async (call, request) => {
  const { params, body, kept } = request;
  const kafka = await isKafka(call, params);
  refuseUnlessKafka(kept, kafka);
  const former: JsonObject = replaces(request) ? await call("getPipeSettings", { params }) : {};
  const reset = Object.fromEntries(Object.keys(former).map((name) => [name, null]));
  const changed = { ...reset, ...body };
  const isUnchanged = Object.keys(changed).length === 0;
  const made = await (isUnchanged
    ? call("getPipeSettings", { params })
    : call("updatePipeSettings", { params, body: changed }));
  return withReadCommitted(made, kafka);
};

export function keptBySettings(request: CloudRequest): KeptValues {
  return replaces(request) ? { [keptReadCommitted]: null, ...request.kept } : request.kept;
}

function replaces({ body, kept, userAgent }: CloudRequest): boolean {
  const isEmpty = Object.keys(body).length === 0 && Object.keys(kept).length === 0;
  return isEmpty || replacingAgents.some((agent) => userAgent.startsWith(agent));
}

async function isKafka(call: CallOperation, params: CloudRequest["params"]): Promise<boolean> {
  return (await call("getPipe", { params })).source.messageBroker !== undefined;
}

function withReadCommitted(settings: JsonObject, kafka: boolean): JsonObject {
  return kafka ? { ...settings, [readCommitted]: true } : settings;
}

function refuseUnlessKafka(kept: KeptValues, kafka: boolean): void {
  if (kafka || kept[keptReadCommitted] == null) return;
  throw refused(keptReadCommitted, "is only for Kafka pipes");
}
