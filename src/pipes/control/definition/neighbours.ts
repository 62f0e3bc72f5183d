/** What a new pipe shares with others of its service: tables that belong to one of them, and consumer groups. */
import { type Issue, memberError } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { NewPipe } from "../../../store/pipes/pipes.ts";
import { tableOf } from "./definition.ts";

type Neighbour = Pick<NewPipe, "name" | "sourceKind" | "source" | "destination">;

/**
 * Throws DESTINATION_INVALID when the pipe would manage a table that another one loads into. `before`: the pipe as it
 * was, whose tables it has already.
 */
export function refuseTakenTables(pipe: Neighbour, others: readonly Neighbour[], before?: Neighbour): void {
  if (pipe.destination.managedTable === false) return;
  const own = before === undefined ? [] : tablesOf(before);
  const wanted = tablesOf(pipe).filter((name) => !own.includes(name));
  for (const other of others) {
    const taken = new Set(tablesOf(other));
    const table = wanted.find((name) => taken.has(name));
    if (table === undefined) continue;
    const { path, remedy } = remedyOf(pipe);
    const message = `${table} is the table of pipe "${other.name}"; ${remedy}`;
    throw memberError("DESTINATION_INVALID", path, message);
  }
}

function remedyOf(pipe: Neighbour): { readonly path: string; readonly remedy: string } {
  const { targets, listing } = kindOf(pipe.sourceKind);
  if (targets?.(configOf(pipe)) === undefined) {
    const remedy = "choose another one, or set managedTable to false to load into the same table";
    return { path: "destination.table", remedy };
  }
  if (listing.of === "tables") {
    return { path: `source.${pipe.sourceKind}.${listing.member}`, remedy: "choose another one" };
  }
  return { path: "destination.database", remedy: "the names are fixed: choose another database" };
}

/** What the user should know of a pipe beside the others, and of members that have no effect on it. */
export function neighbourWarnings(pipe: NewPipe, others: readonly Neighbour[]): Issue[] {
  const shared = kindOf(pipe.sourceKind).sharedMember;
  const sharedOf = (one: Neighbour) => (shared === undefined ? undefined : configOf(one)[shared.member]);
  const wanted = sharedOf(pipe);
  const sharing = others.find((other) => wanted !== undefined && sharedOf(other) === wanted);
  if (shared === undefined || sharing === undefined) return withoutEffect(pipe);
  const path = `source.${pipe.sourceKind}.${shared.member}`;
  return [...withoutEffect(pipe), { path, message: `pipe "${sharing.name}" ${shared.effect}` }];
}

function withoutEffect({ sourceKind, source, destination, settings, scaling }: NewPipe): Issue[] {
  const message = `has no effect on ${sourceKind} pipes`;
  const { settings: effective, targets } = kindOf(sourceKind);
  const names = Object.keys(settings).filter((name) => !effective.some((beginning) => name.startsWith(beginning)));
  const issues = names.map((name) => ({ path: `settings.${name}`, message }));
  if (targets?.(source[sourceKind] as JsonObject) === undefined) return issues;
  if ((scaling.replicas ?? 1) > 1) issues.push({ path: "scaling.replicas", message });
  if (destination.table != null)
    issues.push({ path: "destination.table", message: "has no effect: the pipe names its tables itself" });
  return issues;
}

function tablesOf({ sourceKind, source, destination }: Neighbour): string[] {
  const config = source[sourceKind] as JsonObject;
  const target = tableOf(destination, [], kindOf(sourceKind).targets?.(config));
  const names = target.kind === "owned" ? target.tables : [target.table];
  return names.map((name) => `${target.database}.${name}`);
}

function configOf({ source, sourceKind }: Neighbour): JsonObject {
  return source[sourceKind] as JsonObject;
}
