/** One insert of a batch through the service's engine: deduplicated by token, retried while it may still pass. */
import { ClickHouseClient, ClickHouseError } from "../clickhouse/client.ts";
import { sleep } from "../lib/abort.ts";
import { Backoff } from "../lib/backoff.ts";
import type { Insert } from "../sources/source.ts";
import { type InsertSettings, RefusedInsert, type Written } from "./runner.ts";

/** A way to the engine for as long as the lease is held; acquiring wakes an idle service. */
export type EngineAccess = (signal: AbortSignal) => Promise<{ readonly socketPath: string; release(): void }>;

/** Always set, and last: without them a retry would double or a row be dropped. */
const exactlyOnce = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_insert: "enable",
  deduplicate_insert_select: "force_enable",
  deduplicate_blocks_in_dependent_materialized_views: 1,
};

/** Engine errors about the data itself: parse and type errors, broken files, violated constraints. */
const refusals = new Set([
  6, 26, 27, 33, 36, 38, 41, 53, 69, 70, 72, 73, 117, 130, 131, 321, 349, 354, 395, 407, 467, 469, 539, 636, 675, 691,
  748,
]);

/** Conditions that pass, even when they turn up in the middle of reading: time, memory, network, cancellation. */
const passing = new Set([159, 202, 203, 209, 210, 236, 241, 242, 243, 252, 373, 394, 439, 499, 999, 1000]);

/** How long a source or a service may stay out of reach before the pipe fails. */
const giveUpAfterMs = 15 * 60_000;

export type Inserter = {
  /** Of the whole worker. */
  readonly signal: AbortSignal;
  insert(insert: Insert, token: string, settings: InsertSettings, signal: AbortSignal): Promise<Written>;
  query(sql: string, params?: Readonly<Record<string, string>>): Promise<Record<string, unknown>[]>;
  command(sql: string): Promise<void>;
  close(): void;
};

export type InserterOptions = {
  readonly acquire: EngineAccess;
  readonly signal: AbortSignal;
  /** Told about trouble that is being retried, and, with undefined, about its end. */
  readonly onTrouble: (reason: string | undefined) => void;
  /** Takes secrets out of engine messages. */
  readonly scrub: (text: string) => string;
};

export function createInserter(options: InserterOptions): Inserter {
  const clients = new Map<string, ClickHouseClient>();
  const withEngine = async <T>(work: (client: ClickHouseClient) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const lease = await options.acquire(signal);
    try {
      let client = clients.get(lease.socketPath);
      if (client === undefined) {
        client = new ClickHouseClient({ socketPath: lease.socketPath });
        clients.set(lease.socketPath, client);
      }
      return await work(client);
    } finally {
      lease.release();
    }
  };
  const retrying = <T>(work: (client: ClickHouseClient) => Promise<T>, signal: AbortSignal) =>
    retry(options, () => withEngine(work, signal), signal);
  return {
    signal: options.signal,
    insert: (insert, token, settings, signal) =>
      retrying(async (client) => {
        const summary = await client.command(insert.sql, {
          signal,
          settings: { ...settings, ...exactlyOnce, insert_deduplication_token: token },
          ...(insert.params === undefined ? {} : { params: await insert.params() }),
          ...(insert.body === undefined ? {} : { body: insert.body() }),
        });
        return { rows: summary.writtenRows, bytes: summary.writtenBytes };
      }, signal),
    query: (sql, params) =>
      retrying((client) => client.rows(sql, params === undefined ? {} : { params }), options.signal),
    command: async (sql) => {
      await retrying((client) => client.command(sql), options.signal);
    },
    close: () => {
      for (const client of clients.values()) client.close();
    },
  };
}

async function retry<T>(options: InserterOptions, attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const backoff = new Backoff({ baseMs: 100, capMs: 15_000 });
  const deadline = Date.now() + giveUpAfterMs;
  for (;;) {
    try {
      const result = await attempt();
      if (backoff.attempts > 0) options.onTrouble(undefined);
      return result;
    } catch (error) {
      signal.throwIfAborted();
      const reason = options.scrub(error instanceof Error ? error.message : String(error));
      if (isRefusal(error)) throw new RefusedInsert({ code: error.code, message: reason });
      if (Date.now() > deadline) throw new Error(`gave up after 15 minutes: ${reason}`, { cause: error });
      options.onTrouble(reason);
      await sleep(backoff.next(), signal);
      signal.throwIfAborted();
    }
  }
}

/**
 * Whether the fault lies in the data, so that the source has to decide. A fault behind the destination, in a materialized
 * view, never does: the destination's own rows may be in by then, and only the same insert again can complete them.
 */
export function isRefusal(error: unknown): error is ClickHouseError {
  if (!(error instanceof ClickHouseError)) return false;
  const { code, message } = error;
  if (message.includes("while pushing to view")) return false;
  if (refusals.has(code)) return true;
  // The store denies one object, or has it no more, or has another version of it by now.
  if (code === 499) return /HTTP response code: (403|404|412)\b/.test(message);
  return !passing.has(code) && /While executing (ReadFromObjectStorage|\w+InputFormat)/.test(message);
}
