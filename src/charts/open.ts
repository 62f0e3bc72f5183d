/** Opens the room of charts. */

import type { AcquireEngine } from "../clickhouse/lease.ts";
import type { Config } from "../config.ts";
import type { ChartSourceStore } from "../store/chart-sources.ts";
import { Charts } from "./charts.ts";
import { chartClients } from "./clients.ts";

export type ChartsOptions = {
  readonly config: Config;
  readonly sources: ChartSourceStore;
  readonly acquire: AcquireEngine;
};

/** Charts of one token that may wait for their turn. */
const waitingPerToken = 256;

export function openCharts({ config, sources, acquire }: ChartsOptions): Charts {
  return new Charts({
    sources,
    clientFor: chartClients(acquire),
    limits: {
      timeMs: config.chartTimeoutSeconds * 1000,
      memoryBytes: config.chartMemoryMb * 2 ** 20,
      rowsToRead: config.chartMaxRowsRead,
      runningPerToken: config.chartsPerToken,
      waitingPerToken,
    },
  });
}
