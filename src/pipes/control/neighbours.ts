/** What a new pipe shares with others of its service: tables that belong to one of them, and consumer groups. */
import { AppError, type Issue } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import { kindOf } from "../../sources/registry.ts";
import type { NewPipe } from "../../store/pipes.ts";
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
    const isOne = pipe.destination.table !== undefined;
    const path = isOne ? "destination.table" : `source.${pipe.sourceKind}.tableMappings`;
    const remedy = isOne ? ", or set managedTable to false to load into the same table" : "";
    const message = `${table} is the table of pipe "${other.name}"; choose another one${remedy}`;
    throw new AppError("DESTINATION_INVALID", `${path}: ${message}`, { issues: [{ path, message }] });
  }
}

/** What the user should know of a pipe beside the others, and of members that have no effect on it. */
export function neighbourWarnings(pipe: NewPipe, others: readonly Neighbour[]): Issue[] {
  const group = configOf(pipe).consumerGroup;
  const sharing = others.filter((other) => group !== undefined && configOf(other).consumerGroup === group);
  return [
    ...withoutEffect(pipe),
    ...sharing.slice(0, 1).map((other) => ({
      path: `source.${pipe.sourceKind}.consumerGroup`,
      message: `pipe "${other.name}" commits its offsets to the same group`,
    })),
  ];
}

/** Settings by the beginning of their names; `object_storage_concurrency` limits the inserts of every pipe. */
const effective: Readonly<Record<string, RegExp>> = {
  objectStorage: /^(object_storage|database)_/,
  messageBroker: /^(streaming_|database_|object_storage_concurrency$)/,
  managedStream: /^(streaming_|database_|object_storage_concurrency$)/,
  relationalDb: /^(database_|object_storage_concurrency$)/,
};

function withoutEffect({ sourceKind, settings, scaling }: NewPipe): Issue[] {
  const message = `has no effect on ${sourceKind} pipes`;
  const names = Object.keys(settings).filter((name) => effective[sourceKind]?.test(name) === false);
  const issues = names.map((name) => ({ path: `settings.${name}`, message }));
  const hasOneWorker = kindOf(sourceKind).targets !== undefined;
  if (hasOneWorker && (scaling.replicas ?? 1) > 1) issues.push({ path: "scaling.replicas", message });
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
