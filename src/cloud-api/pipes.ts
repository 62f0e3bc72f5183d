/** Requests about pipes that differ from ours by more than names. */
import { badRequest } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json.ts";
import { isObject } from "../lib/json.ts";
import type { KeptValues } from "./accepted.ts";
import { replacingAgents } from "./dialect.ts";
import type { CallOperation, CloudRequest, Run } from "./route.ts";

const readCommitted = "kafka_read_committed";
const keptReadCommitted = `settings.${readCommitted}`;

export const createCloudPipe: Run = (call, { params, body, kept }) => {
  refuseUnlessKafka(kept, isObject(body.source?.messageBroker));
  return call("createPipe", { params, body });
};

export const updateCloudPipe: Run = async (call, { params, body, kept }) => {
  if (kept[keptReadCommitted] != null) refuseUnlessKafka(kept, await isKafka(call, params));
  return await call("updatePipe", { params, body });
};

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
  throw badRequest(keptReadCommitted, "is only for Kafka pipes");
}
