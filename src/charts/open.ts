/** Opens the room of charts. */

import type { Config } from "../config.ts";
import type { ChartSourceStore } from "../store/saved/chart-sources.ts";
import { Charts } from "./charts.ts";
import { type ChartEngines, chartClients } from "./clients.ts";
import { Fields } from "./explore/fields.ts";
import { type ReadableSources, SourceReads } from "./explore/reads.ts";
import { Search } from "./explore/search.ts";
import { Suggestions } from "./explore/suggestions.ts";
import { Tables } from "./tables/table.ts";
import { Turns } from "./turns.ts";

export type ChartsOptions = {
  readonly config: Config;
  readonly sources: ChartSourceStore;
  readonly engines: ChartEngines;
};

/** Charts of one token that may wait for their turn. */
const waitingPerToken = 256;

export type ChartsRoom = {
  readonly charts: Charts;
  readonly search: Search;
  readonly fields: Fields;
  readonly suggestions: Suggestions;
};

export function openCharts({ config, sources, engines }: ChartsOptions): ChartsRoom {
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
  return chartsOn({ sources, turns });
}

/** The parts of the room. They share the places of a token and what is known of tables. */
export function chartsOn({ sources, turns }: { sources: ReadableSources; turns: Turns }): ChartsRoom {
  const tables = new Tables();
  const reads = new SourceReads({ sources, turns, tables });
  return {
    charts: new Charts({ sources, turns, tables }),
    search: new Search(reads),
    fields: new Fields(reads),
    suggestions: new Suggestions(reads, sources),
  };
}
