/**
 * The consumer group's offsets, for tools that show lag. They follow our own checkpoints and determine nothing: losing
 * a commit, or the whole group, loses no message.
 */
import { settlesWithin } from "../../../lib/timeout.ts";
import type { BrokerClient, Identity, PartitionName } from "../broker-client.ts";

const commitEveryMs = 1_000;
const closeWithinMs = 2_000;

export type GroupOffsetsOptions = {
  readonly client: Pick<BrokerClient, "commit">;
  readonly group: string;
  /** The committing member; undefined without membership. */
  readonly identity: () => Identity | undefined;
  readonly onError: () => void;
};

type Durable = PartitionName & { readonly offset: number };

export class GroupOffsets {
  readonly #options: GroupOffsetsOptions;
  #pending = new Map<string, Durable>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: GroupOffsetsOptions) {
    this.#options = options;
  }

  /** Everything below the offset is durable. */
  advance(lane: string, to: Durable): void {
    this.#pending.set(lane, to);
    this.#timer ??= setTimeout(() => this.#flush(), commitEveryMs);
  }

  /** Commits the remaining offsets, if the broker still answers. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#flush();
    await settlesWithin(this.#running, closeWithinMs);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size === 0) return;
    const offsets = this.#pending;
    this.#pending = new Map();
    this.#running = this.#running.then(() => this.#commit(offsets));
  }

  async #commit(offsets: ReadonlyMap<string, Durable>): Promise<void> {
    const { client, group, identity, onError } = this.#options;
    try {
      await client.commit(group, [...offsets.values()], identity());
    } catch {
      onError();
      if (this.#closed) return;
      // Offsets without a newer one are retried.
      for (const [lane, to] of offsets) if (!this.#pending.has(lane)) this.advance(lane, to);
    }
  }
}
