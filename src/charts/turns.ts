/**
 * What every read of charts has in common: its place in the token's queue, its time limit, the engines that it asks,
 * and the end of all of it.
 */
import type { WakeMode } from "../api/charts.ts";
import { type ChildAbort, childOf } from "../lib/abort.ts";
import { AppError } from "../lib/errors.ts";
import type { AcquireClient, ClientLease } from "./clients.ts";
import { TokenGate } from "./gate.ts";

export type ChartLimits = {
  /** Time of one query in the engine. */
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly rowsToRead: number;
  readonly runningPerToken: number;
  readonly waitingPerToken: number;
};

export type Reader = {
  readonly organizationId: string;
  readonly credentialId: string;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
};

export type Turn = {
  readonly abort: ChildAbort;
  /** Connects to a service until the end of the turn. */
  acquire(serviceId: string, wake: WakeMode): Promise<ClientLease>;
  /** What a failure means to the caller; after the turn was given up, the reason for that. */
  failure(error: unknown): unknown;
  end(): void;
};

/** The engine gets this long beyond its own limit to say that time is up. */
const graceMs = 5_000;

/** The engine host's own read-only mode; a server elsewhere goes by the setting. */
export const readOnlyMode = { "X-Millrace-Readonly": "2" };

export class Turns {
  readonly limits: ChartLimits;
  readonly #clientFor: AcquireClient;
  readonly #gate: TokenGate;

  constructor({ clientFor, limits }: { clientFor: AcquireClient; limits: ChartLimits }) {
    this.limits = limits;
    this.#clientFor = clientFor;
    this.#gate = new TokenGate({ running: limits.runningPerToken, waiting: limits.waitingPerToken });
  }

  /** Waits for a place among the reads of the token. Throws AppError TOO_MANY_REQUESTS, or the signal's reason. */
  async begin(reader: Reader): Promise<Turn> {
    const leave = await this.#gate.enter(reader.credentialId, reader.signal);
    const abort = childOf(reader.signal);
    const timer = setTimeout(() => abort.abort(outOfTime()), this.limits.timeMs + graceMs);
    const leased: ClientLease[] = [];
    return {
      abort,
      acquire: async (serviceId, wake) => {
        const lease = await this.#clientFor(serviceId, wake, abort.signal);
        leased.push(lease);
        return lease;
      },
      failure: (error) => unlessAborted(error, abort.signal),
      end: () => {
        for (const { release } of leased) release();
        clearTimeout(timer);
        abort[Symbol.dispose]();
        leave();
      },
    };
  }

  /** Settings of every query of a read. */
  settings(maxResultRows: number) {
    const { timeMs, memoryBytes, rowsToRead } = this.limits;
    return {
      readonly: 2,
      max_execution_time: timeMs / 1000,
      max_memory_usage: memoryBytes,
      max_rows_to_read: rowsToRead,
      max_result_rows: maxResultRows,
      output_format_json_quote_64bit_integers: 1,
      // As groups they are values like others, and different ones.
      output_format_json_quote_denormals: 1,
      date_time_output_format: "iso",
      wait_end_of_query: 1,
    };
  }
}

function outOfTime(): AppError {
  return new AppError("TIMEOUT", "the query took longer than allowed");
}

function unlessAborted(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || error === signal.reason) return error;
  return signal.reason instanceof AppError
    ? signal.reason
    : new AppError("SERVICE_UNAVAILABLE", "the caller went away");
}
