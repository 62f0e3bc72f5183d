/** Records the numbers of services in their histories: of the rows always, of engines while they run. */
import type { HistoryStore, HistoryValues } from "../store/saved/history.ts";
import type { ServiceSeries } from "../store/saved/history-series.ts";
import type { Service } from "../store/services/services.ts";

/** Values of one reading by the name of their metric. */
export type EngineValues = { readonly at: number; readonly values: Readonly<Record<string, number>> };

/** Totals of an engine that has started anew are lower than before: then rates are unknown. */
export function historyValuesOf(before: EngineValues | undefined, now: EngineValues): HistoryValues<ServiceSeries> {
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000;
  const grown = (name: string): number | undefined => {
    const [was, is] = [before?.values[name], now.values[name]];
    return seconds <= 0 || was === undefined || is === undefined || is < was ? undefined : is - was;
  };
  const rate = (name: string) => {
    const growth = grown(name);
    return growth === undefined ? undefined : growth / seconds;
  };
  const [queries, time] = [grown("Service_Queries_Total"), grown("Service_QueryTime_Seconds_Total")];
  return {
    memoryBytes: now.values.Service_Memory_Bytes,
    connections: now.values.Service_Connections,
    queriesPerSecond: rate("Service_Queries_Total"),
    failedQueriesPerSecond: rate("Service_FailedQueries_Total"),
    querySeconds: queries === undefined || time === undefined || queries === 0 ? undefined : time / queries,
    cpuCores: rate("Service_CpuTime_Seconds_Total"),
    selectedRowsPerSecond: rate("Service_SelectedRows_Total"),
    insertedRowsPerSecond: rate("Service_InsertedRows_Total"),
    insertedBytesPerSecond: rate("Service_InsertedBytes_Total"),
  };
}

export type ServiceRecorderOptions = {
  readonly history: HistoryStore<ServiceSeries>;
  /** Last known disk use. */
  readonly usedBytes: (service: Service) => number | undefined;
  /** The newest readings of a service's engine, the older one first; empty while it does not run. */
  readonly readings: (serviceId: string) => readonly EngineValues[];
};

export class ServiceRecorder {
  readonly #options: ServiceRecorderOptions;

  constructor(options: ServiceRecorderOptions) {
    this.#options = options;
  }

  /** Records one sample of each service, and removes the histories of all others. */
  record(services: readonly Service[], nowMs: number): void {
    const { history, usedBytes, readings } = this.#options;
    for (const service of services) {
      const [before, now] = readings(service.id);
      const engine =
        before === undefined
          ? {}
          : now === undefined
            ? historyValuesOf(undefined, before)
            : historyValuesOf(before, now);
      history.add(service.id, nowMs, {
        running: Number(service.state === "running"),
        diskBytes: usedBytes(service),
        ...engine,
      });
    }
    history.keepOnly(new Set(services.map(({ id }) => id)));
  }
}
