/** Metrics over time, as the histories have them. Reads files only: it wakes no service. */
import { type historyOperations, maxPoints } from "../../../api/history.ts";
import type { Input } from "../../../api/operation.ts";
import type { Stores } from "../../../store/open.ts";
import { type HistoryRange, keptSeconds, sampleSeconds } from "../../../store/saved/history.ts";
import { refusedQuery } from "../../request/validate.ts";
import { findPipe, findService, type Management } from "../lookups.ts";

export type HistoryDeps = Pick<Stores, "services" | "pipes" | "pipeHistory" | "serviceHistory"> & {
  /** The clock, in ms: replaced in tests. */
  readonly now?: (() => number) | undefined;
};

type Query = Input<(typeof historyOperations)["getPipeMetrics"]>["query"];

const steps = [5, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600];
const defaultPoints = 720;
/** Widened to a whole step, a range must end in a year of four digits. In seconds. */
const year9999 = Date.UTC(9999) / 1000;

export function historyHandlers(deps: HistoryDeps): Management<keyof typeof historyOperations> {
  const rangeNow = (query: Query) => rangeOf(query, (deps.now ?? Date.now)());
  return {
    getPipeMetrics: async ({ params, query }) => {
      const pipe = await findPipe(deps, params);
      const range = rangeNow(query);
      return { ...shownRange(range), series: deps.pipeHistory.read(pipe.id, range) };
    },
    getServiceMetrics: async ({ params, query }) => {
      const service = await findService(deps, params);
      const range = rangeNow(query);
      return { ...shownRange(range), series: deps.serviceHistory.read(service.id, range) };
    },
  };
}

/** Widened to whole steps. Throws BAD_REQUEST. */
export function rangeOf({ from, to, step }: Query, nowMs: number): HistoryRange {
  const end = to === undefined ? nowMs / 1000 : Date.parse(to) / 1000;
  const begin = from === undefined ? end - 3_600 : Date.parse(from) / 1000;
  if (begin < 0) throw refusedQuery(from === undefined ? "to" : "from", "must be later than 1970");
  if (end >= year9999) throw refusedQuery("to", "must be earlier than 9999");
  if (begin >= end) throw refusedQuery("from", "must be before `to`");
  const isRecent = begin >= nowMs / 1000 - keptSeconds.samples - sampleSeconds;
  const fitting = steps.find((s) => (end - begin) / s <= defaultPoints && (isRecent || s >= 60));
  const seconds = step ?? fitting ?? 3_600 * Math.ceil((end - begin) / 3_600 / defaultPoints);
  if (seconds > 60 && seconds % 60 !== 0) throw refusedQuery("step", "must be whole minutes above 60 seconds");
  const first = Math.floor(begin / seconds) * seconds;
  const points = Math.ceil((end - first) / seconds);
  if (points > maxPoints) throw refusedQuery("step", `must be larger: this is more than ${maxPoints} points`);
  return { from: first, step: seconds, points };
}

function shownRange({ from, step, points }: HistoryRange) {
  const time = (seconds: number) => new Date(seconds * 1000).toISOString();
  return { from: time(from), to: time(from + points * step), stepSeconds: step };
}
