/** Handlers of operations that ask engines, where none runs: the real rooms, which find no engine. */

import { LocationCheck } from "../../src/backups/location-check.ts";
import { BackupTarget, backupLocationOptions } from "../../src/backups/storage/location.ts";
import { openCharts } from "../../src/charts/open.ts";
import { loadConfig, settingOrigins } from "../../src/config.ts";
import { stateOf } from "../../src/confinement/state.ts";
import { Upstreams } from "../../src/endpoint/proxy/upstream.ts";
import { queryHandlers } from "../../src/http/handlers/queries.ts";
import { queryEndpointHandlers } from "../../src/http/handlers/query-endpoints.ts";
import { queryLogHandlers } from "../../src/http/handlers/query-log.ts";
import { systemHandlers } from "../../src/http/handlers/system.ts";
import { tableHandlers } from "../../src/http/handlers/tables.ts";
import { AppError } from "../../src/lib/errors.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { Inventories } from "../../src/services/inventory/inventories.ts";
import { QueryHistory } from "../../src/services/inventory/query-history.ts";
import type { Stores } from "../../src/store/open.ts";

export async function noEngine(): Promise<never> {
  throw new AppError("SERVICE_UNAVAILABLE", "no engine here");
}

const access = { acquire: noEngine, acquireRunning: () => undefined, engines: () => new Map() };

export function engineHandlers({ services, pipes, queryEndpoints, credentials }: Stores, dataDir: string) {
  const config = loadConfig({}, {});
  const backupLocation = new BackupTarget(backupLocationOptions(config, dataDir));
  const room = { dataDir, access, logger: createLogger("silent") };
  const queries = { services, access, upstreams: new Upstreams(), note: () => {}, headers: () => [] };
  return {
    ...queryHandlers(queries),
    ...queryEndpointHandlers({ ...queries, queryEndpoints, credentials }),
    ...queryLogHandlers({ services, history: new QueryHistory(room) }),
    ...tableHandlers({ services, inventories: new Inventories(room) }),
    ...systemHandlers({
      ...{ version: "0.0.0", config, origins: settingOrigins({}, {}), dataDir, services, engines: access.engines },
      cpuCores: () => undefined,
      ...{ baseUrl: () => "http://127.0.0.1:8150", confinement: stateOf(7, "", 2), loops: () => [] },
      ...{ certificates: { api: undefined, gateway: undefined }, endpoint: { problems: () => new Map() } },
      backups: { backupLocation, locationCheck: new LocationCheck(backupLocation, room.logger) },
      ...{ pipes, workers: () => [] },
    }),
  };
}

/** The room of charts, whose services never run. */
export function chartsWithoutEngine({ chartSources }: Stores) {
  const engines = { acquire: noEngine, observe: () => undefined };
  return openCharts({ config: loadConfig({}, {}), sources: chartSources, engines });
}
