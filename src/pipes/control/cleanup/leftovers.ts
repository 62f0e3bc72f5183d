/**
 * Removes at the sources what pipes have left there: the objects on record whose pipe is gone. An attempt that fails is
 * repeated for as long as it takes, with growing pauses that a restart keeps. Runs beside the loop, one pipe at a time
 * each, so that a source that does not answer holds up nobody else.
 */
import { childOf, sleep } from "../../../lib/abort.ts";
import { AppError, describeError, publicMessage } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { Logger } from "../../../lib/logger.ts";
import { TaskTable } from "../../../lib/task-table.ts";
import type { OutgoingPolicy } from "../../../outgoing/policy.ts";
import type { SourceObject } from "../../../sources/contract/own-objects.ts";
import type { Connector, NetworkContext } from "../../../sources/contract/source.ts";
import type { Leftover, LeftoverStore } from "../../../store/pipes/leftovers.ts";
import { sealedOtherwise } from "../definition/stored-definition.ts";

const firstPauseMs = 2_000;
const longestPauseMs = 600_000;
const attemptMs = 30_000;
/** Between two looks of one who waits for the first attempt. */
const lookMs = 25;

/** What a deletion has asked for. */
export type Deleted = {
  readonly list: () => Promise<Leftover[]>;
  /** Nothing works for it any more. */
  readonly isGone: () => Promise<boolean>;
};

export type LeftoverRemoverOptions = {
  readonly leftovers: LeftoverStore;
  readonly connectorOf: (kind: string) => Promise<Connector>;
  readonly policy: OutgoingPolicy;
  readonly logger: Logger;
  readonly poke: () => void;
  /** The clock, in ms: replaced in tests. */
  readonly now?: () => number;
};

export class LeftoverRemover {
  readonly #options: LeftoverRemoverOptions;
  readonly #tasks: TaskTable;
  readonly #closing = new AbortController();
  readonly #now: () => number;

  constructor(options: LeftoverRemoverOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => Date.now());
    this.#tasks = new TaskTable({
      poke: options.poke,
      onFailure: (pipeId, err) => options.logger.error({ err, pipeId }, "removal of a leftover failed"),
      now: options.now,
    });
  }

  /** One pass over all that is due. */
  async pass(): Promise<void> {
    const due = Map.groupBy(await this.#options.leftovers.due(this.#now()), ({ pipeId }) => pipeId);
    for (const [pipeId, leftovers] of due) {
      if (this.#tasks.isFree(pipeId)) this.#tasks.run(pipeId, () => this.#removeAll(leftovers));
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#tasks.close();
  }

  /**
   * What `list` finds once `isGone`, and once everything of it is removed or has been tried, or after `limitMs`. Used
   * by an answer that names what is left.
   */
  async afterAttempt({ list, isGone }: Deleted, limitMs: number, signal: AbortSignal): Promise<Leftover[]> {
    const end = performance.now() + limitMs;
    for (;;) {
      const left = await list();
      const isDone = left.every(({ attempts }) => attempts > 0) && (await isGone());
      if (isDone || performance.now() >= end || signal.aborted) return left;
      await sleep(lookMs, signal);
    }
  }

  async #removeAll(leftovers: readonly Leftover[]): Promise<void> {
    for (const leftover of leftovers) {
      if (this.#closing.signal.aborted) return;
      await this.#remove(leftover);
    }
  }

  async #remove(leftover: Leftover): Promise<void> {
    const { id, pipeId, kind, name } = leftover;
    const { leftovers, logger } = this.#options;
    try {
      await this.#removeAtSource(leftover);
      await leftovers.remove(id);
      logger.info({ pipeId, kind, name }, "removed at the source");
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const reason = describeError(error);
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** leftover.attempts);
      await leftovers.failed(id, publicMessage(error), this.#now() + pauseMs);
      logger.warn({ pipeId, kind, name, attempts: leftover.attempts + 1, reason }, "left at the source");
    }
  }

  async #removeAtSource({ id, sourceKind, organizationId, kind, name }: Leftover): Promise<void> {
    const config = await this.#options.leftovers.config(id);
    if (config === undefined) throw new AppError("SOURCE_INVALID", sealedOtherwise(sourceKind));
    const connector = await this.#options.connectorOf(sourceKind);
    const network = { policy: this.#options.policy, organizationId, ...noReads };
    const object = { kind, name } as SourceObject;
    using attempt = childOf(this.#closing.signal);
    using _ = setTimeout(() => attempt.abort(new Error("the source did not answer in time")), attemptMs);
    await connector.cleanUp?.(config as JsonObject, { network, object }, attempt.signal);
  }
}

/** Removing and watching what a pipe made reads no data of the source. */
export const noReads: Pick<NetworkContext, "permitEngine" | "listenForEngine"> = {
  permitEngine: async () => {},
  listenForEngine: async () => {
    throw new TypeError("nothing is read at this source");
  },
};
