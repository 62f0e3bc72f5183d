/** Pipes in the list of an organization: stored facts and sampled numbers; what is not known is absent. */
import type { z } from "zod";
import type { pipeSummary } from "../../api/pipe-lists.ts";
import type { PipeVitals } from "../../pipes/control/progress/vitals.ts";
import type { SourceKindKey } from "../../sources/contract/descriptions.ts";
import type { PipeOverview } from "../../store/pipes/pipe-overviews.ts";

export type ListedPipe = { readonly pipe: PipeOverview; readonly vitals: PipeVitals };

export function pipeSummaryOf({ pipe, vitals }: ListedPipe): z.input<typeof pipeSummary> {
  const { sentRows: rows, sentBytes: bytes, errors } = vitals.counters;
  const { latencyMs } = vitals.gauges;
  const latencySeconds = vitals.workers === 0 || latencyMs === undefined ? undefined : latencyMs / 1000;
  return {
    id: pipe.id,
    name: pipe.name,
    serviceId: pipe.serviceId,
    serviceName: pipe.serviceName,
    kind: pipe.sourceKind as SourceKindKey,
    destination: known({ database: pipe.database, table: pipe.table }),
    state: pipe.state,
    ...known({ stateChangedAt: pipe.stateChangedAt, stateMessage: pipe.stateMessage }),
    ...known({ lastSuccessAt: vitals.lastSuccessAt, lastError: vitals.lastError }),
    workers: vitals.workers,
    ...known({ rates: vitals.rates, lag: vitals.lag, latencySeconds, rows, bytes, errors }),
    version: pipe.version,
    createdAt: pipe.createdAt,
    updatedAt: pipe.updatedAt,
  };
}

type Known<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** The members that are neither null nor undefined. */
function known<T extends object>(members: T): Known<T> {
  const kept = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as Known<T>;
}
