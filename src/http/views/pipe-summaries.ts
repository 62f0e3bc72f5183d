/** Pipes in the list of an organization: stored facts and sampled numbers; what is not known is absent. */
import { pipeSummary } from "../../api/pipe-lists.ts";
import type { PipeVitals } from "../../pipes/control/progress/vitals.ts";
import type { SourceKindKey } from "../../sources/contract/descriptions.ts";
import { kindOf } from "../../sources/contract/registry.ts";
import type { PipeOverview } from "../../store/pipes/pipe-overviews.ts";
import { viewOf } from "./view-of.ts";

export type ListedPipe = { readonly pipe: PipeOverview; readonly vitals: PipeVitals };

const summaryView = viewOf(pipeSummary);
const placeView = viewOf(pipeSummary.shape.destination);

export function pipeSummaryOf({ pipe, vitals }: ListedPipe) {
  const { sentRows: rows, sentBytes: bytes, errors, refusedRows = 0 } = vitals.counters;
  const { latencyMs } = vitals.gauges;
  const latencySeconds = vitals.workers === 0 || latencyMs === undefined ? undefined : latencyMs / 1000;
  const kind = pipe.sourceKind as SourceKindKey;
  const refusedObjects = kindOf(kind).listing.of === "objects" ? (errors ?? 0) - refusedRows : 0;
  const counts = { rows, bytes, errors, ...(errors === undefined ? {} : { refusedRows, refusedObjects }) };
  return summaryView({ ...pipe, ...vitals, kind, destination: placeView(pipe), latencySeconds, ...counts });
}
