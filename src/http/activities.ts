/** Records the activity of every successful request that may change something: one place, so that none is forgotten. */
import { isDeepStrictEqual } from "node:util";
import { activityTypeOf, leavesActivity } from "../api/activities.ts";
import type { Operation } from "../api/operation.ts";
import type { Logger } from "../lib/logger.ts";
import type { Actor, NewActivity, ObjectType } from "../store/access/activities.ts";

/** Where activities are kept. */
export type ActivityLog = {
  add(activity: NewActivity): Promise<void>;
  nameOf(type: string, id: string): Promise<string | undefined>;
};

export type ActivityRequest = {
  readonly id: string;
  readonly operation: Operation;
  readonly organizationId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly actor: Actor;
  /** Reads what a PUT replaces: it sends every member, and changes few. */
  readonly before?: (() => Promise<unknown>) | undefined;
};

const objectTypes: Readonly<Record<string, ObjectType>> = {
  organizationId: "organization",
  serviceId: "service",
  userName: "serviceUser",
  pipeId: "pipe",
  backupId: "backup",
  keyId: "key",
  tokenId: "accessToken",
  leftoverId: "leftover",
  id: "source",
};

/** Depth of the members that are named: `source.messageBroker.credentials`. */
const maxDepth = 3;

/** Calls `answer` and records its success. A record that fails is logged: the change itself has been made. */
export async function recorded<T>(
  log: ActivityLog,
  request: ActivityRequest,
  answer: () => Promise<T>,
  logger: Logger,
): Promise<T> {
  const { id: operationId, operation, organizationId, params, body, actor, before } = request;
  if (!leavesActivity(operation)) return await answer();
  const named = lastParam(operation, params, organizationId);
  // Before: a deleted object has no name afterwards.
  const name = await log.nameOf(named.type, named.id);
  // An object that cannot be read is not replaced either, or all of it is new.
  const was = await before?.().catch(() => undefined);
  const result = await answer();
  if (isOfDraft(named.type, name, body)) return result;
  const object = createdBy(operationId, operation, result, body) ?? { ...named, name };
  const isChange = operation.method === "PATCH" || operation.method === "PUT";
  const type = activityTypeOf(operationId, body);
  const serviceId = params.serviceId ?? (object.type === "service" ? object.id : undefined);
  const fields = isChange && !isCommand(body) ? memberNames(body, contentOf(was)) : undefined;
  try {
    await log.add({ organizationId, type, actor, serviceId, object, fields });
  } catch (error) {
    logger.error({ err: error, type, object, requestId: actor.requestId }, "activity not recorded");
  }
  return result;
}

/** A draft is saved with every pause of typing: that is not a change of the organization. */
function isOfDraft(type: string, name: string | undefined, body: unknown): boolean {
  if (type === "savedObject") return name === undefined;
  return (body as { kind?: unknown } | undefined)?.kind === "draft";
}

/** The object that the path names last. */
function lastParam({ path }: Operation, params: Readonly<Record<string, string>>, organizationId: string) {
  const param = [...path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1];
  if (param === undefined) return { type: "organization", id: organizationId };
  return { type: objectTypes[param] ?? param.replace(/Id$/, ""), id: params[param] ?? "" };
}

/** The object that a POST has created, which the path does not name: in `result`, or in a member of it. */
function createdBy(operationId: string, { method }: Operation, result: unknown, body: unknown) {
  if (method !== "POST" || !operationId.startsWith("create")) return undefined;
  const noun = operationId.slice("create".length);
  const [own, members] = [result as Named | undefined, Object.values((result ?? {}) as Record<string, unknown>)];
  const made = typeof own?.id === "string" ? own : members.find(isNamed);
  if (made === undefined) return undefined;
  const name = made.name ?? (body as Named | undefined)?.name;
  return { type: noun.charAt(0).toLowerCase() + noun.slice(1), id: made.id ?? made.name ?? "", name };
}

type Named = { readonly id?: string; readonly name?: string };

function isNamed(value: unknown): value is Named {
  const { id, name } = (value ?? {}) as Named;
  return typeof value === "object" && (typeof id === "string" || typeof name === "string");
}

function isCommand(body: unknown): boolean {
  return typeof (body as { command?: unknown } | undefined)?.command === "string";
}

/** The object within an answer of either API. */
function contentOf(answer: unknown): unknown {
  return (answer as { data?: unknown } | undefined)?.data ?? answer;
}

/** Names of the members of a body that differ from what was, in the form `source.messageBroker.credentials`. */
export function memberNames(body: unknown, was?: unknown, prefix = "", depth = 1): string[] {
  if (body === null || typeof body !== "object" || Array.isArray(body)) return [];
  return Object.entries(body).flatMap(([name, value]) => {
    const before = (was as Readonly<Record<string, unknown>> | undefined)?.[name] ?? undefined;
    const isKept = was !== undefined && isDeepStrictEqual(value ?? undefined, before);
    if (value === undefined || isKept) return [];
    const inner = depth === maxDepth ? [] : memberNames(value, before, `${prefix}${name}.`, depth + 1);
    return inner.length === 0 ? [`${prefix}${name}`] : inner;
  });
}
