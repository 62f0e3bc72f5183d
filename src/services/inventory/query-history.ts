/**
 * Queries of services' clients, also while a service sleeps: the engine's own log is read while it runs, and the newest
 * records are kept in a file before it is stopped. Nothing here wakes a service.
 */
import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import type { Service } from "../../store/services/services.ts";
import type { ServiceAccess } from "../access.ts";
import type { RunningEngine } from "../runtime.ts";
import { askEngine, askRunning } from "./ask-engine.ts";
import { keepFile, readKeptFile } from "./kept-file.ts";
import { killClientQuery, type LogPage, type QueryPlace, type QueryRecord, readLog, readRunning } from "./query-log.ts";

export type QueryHistoryOptions = {
  readonly dataDir: string;
  readonly access: Pick<ServiceAccess, "acquireRunning">;
  readonly logger: Logger;
};

export type QueryPage = LogPage & {
  /** When this was read from the engine; undefined when nothing is known. */
  readonly asOf: string | undefined;
  /** True when the running engine was asked. */
  readonly live: boolean;
  readonly running: readonly QueryRecord[];
};

type Wanted = { readonly limit: number; readonly after?: QueryPlace | undefined; readonly failed: boolean };
type KeptQueries = { readonly format: 1; readonly asOf: string; readonly records: readonly QueryRecord[] };

const askTimeoutMs = 10_000;
/** A stopping engine waits at most this long. */
const lastTimeoutMs = 2_000;
const maxKept = 1_000;

export class QueryHistory {
  readonly #options: QueryHistoryOptions;

  constructor(options: QueryHistoryOptions) {
    this.#options = options;
  }

  /**
   * A page of the log and, on the first one, what runs. The first page of a service that does not run has the newest
   * 1,000 records that were kept. Rejects when a running engine does not answer.
   */
  async page(service: Service, wanted: Wanted): Promise<QueryPage> {
    const asOf = new Date().toISOString();
    const asked = await askRunning(this.#options.access, service.id, askTimeoutMs, async (client, options) => {
      const running = wanted.after === undefined ? await readRunning(client, options) : [];
      return { running, ...(await readLog(client, options, wanted)) };
    });
    if (asked !== undefined) return { asOf, live: true, ...asked };
    const kept = await readKeptFile<KeptQueries>(this.#file(service.id), 1);
    const fits = ({ errorCode }: QueryRecord) => !wanted.failed || errorCode !== 0;
    const records = wanted.after === undefined ? (kept?.records ?? []).filter(fits) : [];
    return { asOf: kept?.asOf, live: false, running: [], records, next: undefined };
  }

  /** False when no query with this id runs. */
  async kill(service: Service, queryId: string): Promise<boolean> {
    const killed = await askRunning(this.#options.access, service.id, askTimeoutMs, (client, options) =>
      killClientQuery(client, options, queryId),
    );
    return killed ?? false;
  }

  /** Keeps the newest records of an engine that is about to be stopped. Never rejects. */
  async beforeStop(serviceId: string, engine: RunningEngine): Promise<void> {
    const asOf = new Date().toISOString();
    try {
      const { records } = await askEngine(engine, lastTimeoutMs, async (client, options) => {
        await client.command("SYSTEM FLUSH LOGS query_log", options);
        return await readLog(client, options, { limit: maxKept, failed: false });
      });
      await keepFile(this.#file(serviceId), { format: 1, asOf, records } satisfies KeptQueries);
    } catch (error) {
      this.#options.logger.debug({ err: error, serviceId }, "queries not kept");
    }
  }

  /** In the service's folder, with which it is removed. */
  #file(serviceId: string): string {
    return join(this.#options.dataDir, "services", serviceId, "queries.json");
  }
}
