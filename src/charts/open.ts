/** Opens the room of charts. */

import type { Config } from "../config.ts";
import type { ChartSourceStore } from "../store/chart-sources.ts";
import { Charts } from "./charts.ts";
import { type ChartEngines, chartClients } from "./clients.ts";
import { Tables } from "./tables/table.ts";
import { Turns } from "./turns.ts";

export type ChartsOptions = {
  readonly config: Config;
  readonly sources: ChartSourceStore;
  readonly engines: ChartEngines;
};

/** Charts of one token that may wait for their turn. */
const waitingPerToken = 256;

export function openCharts({ config, sources, engines }: ChartsOptions): Charts {
  const turns = new Turns({
    clientFor: chartClients(engines),
    limits: {
      timeMs: config.chartTimeoutSeconds * 1000,
      memoryBytes: config.chartMemoryMb * 2 ** 20,
      rowsToRead: config.chartMaxRowsRead,
      runningPerToken: config.chartsPerToken,
      waitingPerToken,
    },
  });
  return new Charts({ sources, turns, tables: new Tables() });
}
