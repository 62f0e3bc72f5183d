/** Members of requests that our operations do not have: takes those that are accepted, refuses those that are not. */
import { AppError, type Issue } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json.ts";
import { acceptedMembers, emptyMembers, refusedMembers } from "./dialect.ts";
import { changedAt, membersAt } from "./members.ts";

/** By the path at which records show them; null: the client does not set it. */
export type KeptValues = JsonObject;

export type TakenMembers = {
  /** The body without these members. */
  readonly body: unknown;
  /** What later responses depend on. */
  readonly kept: KeptValues;
};

/** Throws NOT_SUPPORTED with every member that is refused. */
export function takeMembers(operation: string, body: unknown): TakenMembers {
  const issues: Issue[] = [];
  const kept: Record<string, JsonObject[string]> = {};
  let rest = body;
  for (const { path, value, otherwise, keptAt } of acceptedMembers[operation] ?? []) {
    for (const found of membersAt(rest, path)) {
      if (found.value !== null && !value.safeParse(found.value).success) {
        issues.push({ path: found.path, message: otherwise });
      }
      if (keptAt !== undefined) kept[keptAt] = found.value as JsonObject[string];
    }
    rest = changedAt(rest, path, () => undefined);
  }
  for (const path of refusedMembers[operation] ?? []) {
    for (const found of membersAt(rest, path)) {
      if (found.value !== null) {
        issues.push({ path: found.path, message: "is not supported by this server; see docs/compat.md" });
      }
    }
    rest = changedAt(rest, path, () => undefined);
  }
  for (const path of emptyMembers[operation] ?? []) {
    rest = changedAt(rest, path, (value) => (value === "" ? undefined : value));
  }
  if (issues.length === 0) return { body: rest, kept };
  const sentence = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
  throw new AppError("NOT_SUPPORTED", `${sentence}.`, { issues });
}
