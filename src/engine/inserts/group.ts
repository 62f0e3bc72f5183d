/** Inserts of one user with one statement and the same settings, which are inserted together. */
import type { ClickHouseException } from "../../clickhouse/exception.ts";
import { mayHoldExpressions } from "../sql/text/values-data.ts";
import {
  type EngineInsert,
  emptyInsert,
  type InsertStatement,
  isInData,
  type ReplyHeaders,
  rowOf,
  wholeInsert,
} from "./engine-insert.ts";
import { joined, type Piece } from "./joinable-data.ts";
import type { InsertOptions } from "./options.ts";
import { BusyTimeout } from "./pace.ts";

export type Collected = Piece & {
  readonly resolve: (headers: ReplyHeaders) => void;
  readonly reject: (error: unknown) => void;
};

/** The checks of an insert are repeated after this time. */
const checkedMs = 1_000;
/** Data with expressions may have this size, because they are judged. */
const maxValuesBytes = 1_048_576;

export class InsertGroup {
  readonly #statement: InsertStatement;
  readonly #options: Pick<InsertOptions, "maxBytes" | "maxInserts">;
  readonly #insert: EngineInsert;
  readonly #onFlush: () => void;
  readonly #timeout: BusyTimeout;
  #waiting: Collected[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #flushing: Promise<void> | undefined;
  #checked: { readonly at: number; readonly reply: Promise<ReplyHeaders> } | undefined;
  #usedAt = performance.now();

  constructor(
    statement: InsertStatement,
    options: InsertOptions,
    { insert, onFlush }: { readonly insert: EngineInsert; readonly onFlush: () => void },
  ) {
    this.#statement = statement;
    const most = isValues(statement) ? Math.min(options.maxBytes, maxValuesBytes) : options.maxBytes;
    this.#options = { maxBytes: most, maxInserts: options.maxInserts };
    this.#timeout = new BusyTimeout(options.pace);
    this.#insert = insert;
    this.#onFlush = onFlush;
  }

  /** True when nothing has come for a while. */
  isUnused(ms: number): boolean {
    return this.#waiting.length === 0 && this.#flushing === undefined && performance.now() - this.#usedAt > ms;
  }

  /** Resolves when the engine would accept an insert of this user now; rejects with its exception. */
  async check(): Promise<ReplyHeaders> {
    const now = performance.now();
    if (this.#checked === undefined || now - this.#checked.at > checkedMs) {
      const reply = this.#insert(this.#statement, Buffer.alloc(0), emptyInsert);
      this.#checked = { at: now, reply };
      reply.catch(() => {
        this.#checked = undefined;
      });
    }
    return await this.#checked.reply;
  }

  /** The insert is settled when its rows are in the table, or will not be. */
  push(one: Collected): void {
    const now = performance.now();
    this.#usedAt = now;
    const waitMs = this.#timeout.next(now);
    this.#waiting.push(one);
    this.#bytes += one.data.length;
    const isFull = this.#bytes >= this.#options.maxBytes || this.#waiting.length >= this.#options.maxInserts;
    if (isFull || waitMs === 0) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), waitMs);
  }

  /** Inserts everything that waits. Never rejects. One flush runs at a time: what comes meanwhile is joined. */
  flush(): Promise<void> {
    this.#isDue = true;
    this.#flushing ??= this.#drain().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #drain(): Promise<void> {
    while (this.#isDue) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const taken = this.#take();
      this.#isDue = this.#waiting.length > 0;
      if (taken.length === 0) return;
      this.#timeout.flushed(performance.now());
      this.#onFlush();
      await this.#insertAll(taken);
    }
  }

  #take(): Collected[] {
    let bytes = 0;
    let count = 0;
    for (const { data } of this.#waiting) {
      if (count > 0 && bytes + data.length > this.#options.maxBytes) break;
      bytes += data.length;
      count += 1;
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  /** An error in the data concerns the insert that has it: the others are inserted without it. */
  async #insertAll(inserts: readonly Collected[]): Promise<void> {
    try {
      const headers = await this.#insert(this.#statement, ...this.#dataOf(inserts));
      for (const { resolve } of inserts) resolve(headers);
    } catch (error) {
      if (inserts.length === 1 || !isInData(error)) {
        for (const { reject } of inserts) reject(error);
      } else for (const part of apart(inserts, error)) await this.#insertAll(part);
    }
  }

  /** Exactly these bytes are judged for expressions. */
  #dataOf(inserts: readonly Collected[]): [data: Buffer, settings: [string, string][]] {
    const data = joined(this.#statement.format, inserts);
    const settings = wholeInsert(inserts.reduce((sum, { rows }) => sum + rows, 0)) as [string, string][];
    if (isValues(this.#statement) && mayHoldExpressions(data.toString("latin1"))) {
      settings.push(["input_format_values_interpret_expressions", "1"]);
      settings.push(["input_format_values_deduce_templates_of_expressions", "1"]);
    }
    return [data, settings];
  }
}

function isValues({ format }: InsertStatement): boolean {
  return format.toLowerCase() === "values";
}

/** The insert with the row that the error names, and the others; two halves when it names none. */
function apart(inserts: readonly Collected[], error: ClickHouseException): (readonly Collected[])[] {
  let left = rowOf(error) ?? Number.POSITIVE_INFINITY;
  for (const [at, one] of inserts.entries()) {
    left -= one.rows;
    if (left <= 0) return [[one], inserts.toSpliced(at, 1)];
  }
  const half = Math.ceil(inserts.length / 2);
  return [inserts.slice(0, half), inserts.slice(half)];
}
