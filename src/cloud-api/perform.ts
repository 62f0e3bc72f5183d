/** One request of the dialect: members taken and renamed, our operations called, records shown in their names. */
import { AppError } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json.ts";
import { type KeptValues, takeMembers } from "./accepted.ts";
import type { CloudForm } from "./dialect.ts";
import { changedAt, isObject, membersAt, withMember } from "./members.ts";
import { errorInTheirs, toOurs, toTheirs } from "./names.ts";
import { recordViews } from "./records.ts";
import type { CallOperation, CloudRequest, CloudRoute } from "./route.ts";

/** Values that clients set, that have no effect, and that records show as they were set. */
export type CloudMembers = {
  /** By the id of a service or pipe. */
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
