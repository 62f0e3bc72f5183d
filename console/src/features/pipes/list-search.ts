/** What the list of pipes shows, as it is in the address. */
import { sourceDescriptions, sourceKindKeys } from "../../../../src/sources/contract/descriptions.ts";
import type { OperationResult } from "../../api/client.ts";
import { oneOf, textsOf } from "../../lib/search.ts";

export type PipeSummary = OperationResult<"listAllPipes">["pipes"][number];
export type PipeState = PipeSummary["state"];
export type PipeKind = PipeSummary["kind"];

const sortKeys = ["name", "service", "state", "stateChangedAt", "lag", "rowsPerSecond"] as const;

/** Groups of states that a user asks for. */
export const stateGroups = {
  trouble: ["Degraded", "Failed", "InternalError", "Unknown"],
  running: ["Running", "Degraded"],
  changing: ["Provisioning", "Setup", "Snapshot", "Pausing", "Stopping", "Modifying", "Resync"],
  stopped: ["Stopped", "Paused"],
  completed: ["Completed"],
} as const satisfies Record<string, readonly PipeState[]>;
export type StateGroup = keyof typeof stateGroups;

export const kindWords = Object.fromEntries(
  sourceKindKeys.map((kind) => [kind, sourceDescriptions[kind].label]),
) as Readonly<Record<PipeKind, string>>;

export type ListSearch = ReturnType<typeof listSearch>;

/** Takes what it knows of an address, and leaves out the rest. */
export function listSearch(search: Record<string, unknown>) {
  const state = groupOf(search.state);
  return {
    ...textsOf(search, "name", "serviceId", "cursor"),
    ...(state === undefined ? {} : { state }),
    ...oneOf(search, "kind", sourceKindKeys),
    ...oneOf(search, "sort", sortKeys),
    ...oneOf(search, "order", ["desc"]),
  };
}

/** A group, or the first one with the state. */
function groupOf(value: unknown): StateGroup | undefined {
  if (isKey(stateGroups, value)) return value;
  const groups = Object.keys(stateGroups) as StateGroup[];
  return groups.find((group) => stateGroups[group].some((state) => state === value));
}

function isKey<T extends object>(table: T, key: unknown): key is keyof T {
  return typeof key === "string" && Object.hasOwn(table, key);
}
