/** What alerts of states read: a number for each pipe or service of the organization, as it is now. */

import { fulfils } from "../api/alert-condition.ts";
import type { AlertReading, StateMetric } from "../api/alerts.ts";
import { isOngoing, pipeFindings, serviceFindings, type WatchedPipe, type WatchedService } from "../api/attention.ts";
import { AppError } from "../lib/errors.ts";
import type { Alert } from "../store/saved/alerts.ts";
import type { WindowValues } from "./findings.ts";

type Named = { readonly id: string; readonly name: string };
type Service = Named &
  WatchedService & {
    /** End of the newest good backup in ms, or else the creation; undefined: the service is not backed up here. */
    readonly backedUpAt: number | undefined;
    /** Free share of the server's disk; undefined: the tables are elsewhere. */
    readonly serverDiskFree: number | undefined;
  };
type Pipe = Named & WatchedPipe & { readonly serviceId: string };

/** What an organization has. */
export type States = { readonly services: readonly Service[]; readonly pipes: readonly Pipe[] };

type Found = { readonly value: number | undefined; readonly reason?: string };
type Totals = Readonly<Record<string, number>> | null;

const attention = (findings: ReturnType<typeof pipeFindings>): Found => {
  const [first] = findings.filter(isOngoing);
  return first === undefined ? { value: 0 } : { value: 1, reason: first.sentence };
};

const ofPipe: Partial<Record<StateMetric, (pipe: Pipe, totals: Totals) => Found>> = {
  pipe_attention: (pipe) => attention(pipeFindings(pipe)),
  pipe_lag_seconds: ({ lag }) => ({ value: lag?.seconds }),
  // The first evaluation counts nothing; later ones count a pipe that is new from its begin.
  pipe_refused_rows: ({ id, errors = 0 }, totals) => ({ value: totals === null ? 0 : errors - (totals[id] ?? 0) }),
};

const ofService: Partial<Record<StateMetric, (service: Service, nowMs: number) => Found>> = {
  service_attention: (service) => attention(serviceFindings(service)),
  backup_age_hours: ({ backedUpAt }, nowMs) => ({
    value: backedUpAt === undefined ? undefined : Math.round((nowMs - backedUpAt) / 3_600) / 1000,
  }),
  disk_free_percent: ({ serverDiskFree, diskGb, diskUsedBytes = 0 }) => {
    const shares = [serverDiskFree, diskGb && 1 - diskUsedBytes / (diskGb * 2 ** 30)];
    const known = shares.filter((share) => share !== undefined);
    return { value: known.length === 0 ? undefined : Math.round(Math.min(...known) * 1000) / 10 };
  },
};

/** The readings of the alert. Throws NOT_FOUND for a pipe or service that does not exist any more. */
export function stateValues({ definition, totals }: Alert, { services, pipes }: States, nowMs: number): WindowValues {
  const { metric = "pipe_attention", serviceId, pipeId } = definition;
  const isWatched = ({ id }: Named) => serviceId === undefined || id === serviceId;
  const watchedServices = services.filter(isWatched);
  const watchedPipes = pipes.filter(
    (pipe) => isWatched({ id: pipe.serviceId, name: "" }) && pipe.id === (pipeId ?? pipe.id),
  );
  requireAny("service", serviceId, watchedServices);
  requireAny("pipe", pipeId, watchedPipes);
  const [pipeValue, serviceValue] = [ofPipe[metric], ofService[metric]];
  const found = [
    ...(pipeValue === undefined ? [] : watchedPipes.map((one) => ({ name: one.name, ...pipeValue(one, totals) }))),
    ...(serviceValue === undefined
      ? []
      : watchedServices.map((one) => ({ name: one.name, ...serviceValue(one, nowMs) }))),
  ];
  const readings = found.flatMap(({ name, value, reason }): AlertReading[] => {
    if (value === undefined) return [];
    return [
      {
        group: [name],
        series: 0,
        value,
        fires: fulfils(value, definition),
        ...(reason === undefined ? {} : { reason }),
      },
    ];
  });
  const counted = Object.fromEntries(pipes.map(({ id, errors = 0 }) => [id, errors]));
  return { readings, isGrouped: false, ...(metric === "pipe_refused_rows" ? { totals: counted } : {}) };
}

function requireAny(what: string, id: string | undefined, watched: readonly Named[]): void {
  if (id !== undefined && watched.length === 0) {
    throw new AppError("NOT_FOUND", `The ${what} of the alert does not exist any more.`);
  }
}
