/** The final state of a pipe that has read everything, with one sentence about what it loaded and what it did not. */
import type { ShownState } from "./state.ts";

export type OutcomeFacts = {
  readonly counters: Readonly<Partial<Record<string, number>>>;
  /** The table of refused rows and objects; undefined for a source with several tables. */
  readonly errorTable: string | undefined;
  /** True for a source that reads objects. */
  readonly readsObjects: boolean;
  /** Why a row or object was refused, if a worker still knows one. */
  readonly refusal?: string | undefined;
};

/** Characters of a refusal's reason. */
const mostOfReason = 300;

/**
 * `Completed`, without a sentence when everything was loaded. `Failed` when there was input and none of it was loaded.
 */
export function outcomeOf({ counters, errorTable, readsObjects, refusal }: OutcomeFacts): ShownState {
  const count = (name: string) => counters[name] ?? 0;
  const objects = count("filesLoaded") + count("filesFailed");
  if (readsObjects && objects === 0) return { state: "Completed", reason: "No object matches the pattern." };
  if (count("errors") === 0 && count("filesFailed") === 0) return { state: "Completed", reason: null };
  const where = errorTable === undefined ? "" : `; see ${errorTable}`;
  const why =
    refusal === undefined ? "" : ` A reason: ${[...refusal.replaceAll(/\s+/g, " ")].slice(0, mostOfReason).join("")}`;
  const sentence = `${[...objectsPart(count), ...rowsPart(count)].join(" and ")}${where}.${why}`;
  if (count("sentRows") > 0) return { state: "Completed", reason: sentence };
  return { state: "Failed", reason: `Nothing was loaded: ${sentence}` };
}

type Count = (name: string) => number;

function objectsPart(count: Count): string[] {
  const failed = count("filesFailed");
  if (failed === 0) return [];
  return [`${failed} of ${failed + count("filesLoaded")} objects could not be read`];
}

function rowsPart(count: Count): string[] {
  const refused = count("refusedRows");
  return refused === 0 ? [] : [`${refused} of ${count("fetchedRows")} rows were refused`];
}
