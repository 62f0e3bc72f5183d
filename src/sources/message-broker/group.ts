/**
 * The consumer group's offsets, for tools that show lag. They follow our own checkpoints and decide nothing: losing a
 * commit, or the whole group, loses no message.
 */
import type { BrokerClient, PartitionName } from "./broker-client.ts";

const commitEveryMs = 1_000;
const closeWithinMs = 2_000;

export class GroupOffsets {
  readonly #client: BrokerClient;
  readonly #group: string;
  readonly #onError: () => void;
  #pending = new Map<string, PartitionName & { offset: number }>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(client: BrokerClient, group: string, onError: () => void) {
    this.#client = client;
    this.#group = group;
    this.#onError = onError;
  }

  /** Everything below the offset is durable. */
  advance(lane: string, to: PartitionName & { offset: number }): void {
    this.#pending.set(lane, to);
    this.#timer ??= setTimeout(() => this.#flush(), commitEveryMs);
  }

  /** Commits what is left, if the broker still answers. */
  async close(): Promise<void> {
    this.#flush();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeWithinMs);
    });
    await Promise.race([this.#running, late]);
    clearTimeout(timer);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size === 0) return;
    const offsets = [...this.#pending.values()];
    this.#pending = new Map();
    this.#running = this.#running.then(() => this.#client.commit(this.#group, offsets)).catch(() => this.#onError());
  }
}
