/**
 * Asynchronous inserts, which the engine library does not have: small inserts wait for others with the same user,
 * statement and settings, and become one insert. Each keeps its own answer.
 */
import { codesOf } from "../../clickhouse/error-codes.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { type InsertNumbers, noInserts } from "../../endpoint/handoff/messages.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import type { EngineInsert, InsertStatement, ReplyHeaders } from "./engine-insert.ts";
import { InsertGroup } from "./group.ts";
import type { Piece } from "./joinable-data.ts";
import { KeptInserts } from "./kept-inserts.ts";
import type { InsertOptions } from "./options.ts";

export type NewInsert = {
  readonly statement: InsertStatement;
  readonly options: InsertOptions;
  readonly piece: Piece;
};

export type AsyncInsertsOptions = {
  readonly insert: EngineInsert;
  /** Keeps inserts that are answered before they are in the table. */
  readonly folder: string;
  readonly logger: LineLogger;
};

/** Above this, an insert is not collected: the engine takes it as it comes, which slows its client down. */
const maxWaitingBytes = 64 * 2 ** 20;
const maxGroups = 1_000;
const unusedMs = 60_000;
/** Time until rows are tried again that the engine could not take, at first and at most. */
const retryMs = { first: 500, most: 30_000 };

/** Errors that pass by themselves: rows that were acknowledged are tried again. */
const passing = codesOf(
  "MEMORY_LIMIT_EXCEEDED",
  "NOT_ENOUGH_SPACE",
  "TOO_MANY_PARTS",
  "TOO_MANY_SIMULTANEOUS_QUERIES",
  "NETWORK_ERROR",
  "TIMEOUT_EXCEEDED",
  "QUERY_WAS_CANCELLED",
);

export class AsyncInserts {
  readonly #options: AsyncInsertsOptions;
  readonly #kept: KeptInserts;
  readonly #groups = new Map<string, InsertGroup>();
  readonly #settled: number[] = [];
  #settling: Promise<void> | undefined;
  readonly #numbers: { -readonly [Name in keyof InsertNumbers]: number } = { ...noInserts };

  private constructor(options: AsyncInsertsOptions, kept: KeptInserts) {
    this.#options = options;
    this.#kept = kept;
  }

  /** Begins to insert what an earlier process has acknowledged. Rejects when its log cannot be read. */
  static async open(options: AsyncInsertsOptions): Promise<AsyncInserts> {
    const inserts = new AsyncInserts(options, await KeptInserts.open(options.folder));
    for (const [offset, left] of inserts.#kept.left) inserts.#pushKept(left, offset);
    void inserts.flush();
    return inserts;
  }

  /** False while too much waits. */
  get hasRoom(): boolean {
    if (this.#groups.size >= maxGroups) {
      for (const [key, group] of this.#groups) if (group.isUnused(unusedMs)) this.#groups.delete(key);
    }
    return this.#numbers.waitingBytes < maxWaitingBytes && this.#groups.size < maxGroups;
  }

  get numbers(): InsertNumbers {
    return this.#numbers;
  }

  /**
   * Resolves when the insert can be answered: when its rows are in the table, or when it will be inserted whatever
   * happens to this process. Rejects with the exception for the client.
   */
  async add(insert: NewInsert, signal: AbortSignal): Promise<ReplyHeaders> {
    if (insert.options.wait) return await this.#waitFor(insert, signal);
    const headers = await this.#groupOf(insert).check();
    const offset = await this.#kept.append(insert).catch((cause: unknown) => {
      throw clickHouseException("NOT_ENOUGH_SPACE", "The rows cannot be kept on disk.", { cause });
    });
    this.#pushKept(insert, offset);
    return headers;
  }

  /** Inserts everything that waits now. Never rejects. */
  async flush(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => group.flush()));
    await this.#settling;
  }

  #waitFor(insert: NewInsert, signal: AbortSignal): Promise<ReplyHeaders> {
    const { waitMs } = insert.options;
    const { promise, resolve, reject } = Promise.withResolvers<ReplyHeaders>();
    const late = `Wait for async insert timeout (${waitMs} ms) exceeded.`;
    const timer = setTimeout(
      () => reject(clickHouseException("TIMEOUT_EXCEEDED", late)),
      Math.min(waitMs, 2 ** 31 - 1),
    );
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else {
      const count = this.#counted(insert.piece);
      this.#groupOf(insert).push({
        ...insert.piece,
        resolve: (headers) => {
          count();
          resolve(headers);
        },
        reject: (error) => {
          count(error);
          reject(error);
        },
      });
    }
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    });
  }

  /** Rows that were acknowledged are tried until they are in, or cannot be. Until then they count as waiting. */
  #pushKept(insert: NewInsert, offset: number): void {
    const count = this.#counted(insert.piece);
    const settle = (error?: unknown) => {
      count(error);
      if (error !== undefined) {
        // Its message has values of the rows. The user finds it in the log of queries.
        const reason = error instanceof ClickHouseException ? error.codeName : String(error);
        this.#options.logger.warn({ reason, user: insert.statement.user }, "an asynchronous insert failed");
      }
      this.#settled.push(offset);
      this.#settling ??= this.#settle();
    };
    const attempt = (pauseMs: number) => {
      const reject = (error: unknown) => {
        if (!(error instanceof ClickHouseException && passing.has(error.code))) settle(error);
        else setTimeout(() => attempt(Math.min(pauseMs * 2, retryMs.most)), pauseMs);
      };
      this.#groupOf(insert).push({ ...insert.piece, resolve: () => settle(), reject });
    };
    attempt(retryMs.first);
  }

  /** Counts an insert that waits; the result is called when it does not any more. */
  #counted({ data }: Piece): (error?: unknown) => void {
    this.#count({ waiting: 1, waitingBytes: data.length, inserts: 1 });
    return (error) => this.#count({ waiting: -1, waitingBytes: -data.length, failed: error === undefined ? 0 : 1 });
  }

  #groupOf({ statement, options, piece }: NewInsert): InsertGroup {
    // The headers and parameters of a statement are in the order of the client, so that equal ones have an equal text.
    const key = JSON.stringify([statement.user, statement.head, statement.parameters, statement.headers, piece.shape]);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const onFlush = () => this.#count({ flushes: 1 });
      group = new InsertGroup(statement, options, { insert: this.#options.insert, onFlush });
      this.#groups.set(key, group);
    }
    return group;
  }

  async #settle(): Promise<void> {
    while (this.#settled.length > 0) {
      const offsets = this.#settled.splice(0);
      // Not written, they are inserted once more after the next start.
      await this.#kept.settled(offsets).catch((err: unknown) => {
        this.#options.logger.warn({ err }, "the log of asynchronous inserts cannot be written");
      });
    }
    this.#settling = undefined;
  }

  #count(change: Partial<InsertNumbers>): void {
    for (const [name, value] of Object.entries(change)) this.#numbers[name as keyof InsertNumbers] += value;
  }
}
