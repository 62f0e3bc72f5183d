/** Reports partitions that have been unreadable for a while; shorter failures are not reported. */

/** Elections of leaders and restarts of brokers take less time. */
const quietMs = 5_000;

type Trouble = { readonly since: number; readonly what: string };

export class PartitionTroubles {
  readonly #warn: (key: string, message?: string) => void;
  readonly #now: () => number;
  readonly #troubles = new Map<string, Trouble>();

  /** `warn` makes the pipe Degraded with the message, until it is called without one. */
  constructor(warn: (key: string, message?: string) => void, now = Date.now) {
    this.#warn = warn;
    this.#now = now;
  }

  /** The partition cannot be read now. `what` is its error, or the reason why no broker can be asked. */
  failed(lane: string, what: string): void {
    const since = this.#troubles.get(lane)?.since ?? this.#now();
    this.#troubles.set(lane, { since, what });
    if (this.#now() - since < quietMs) return;
    const seconds = Math.round((this.#now() - since) / 1_000);
    this.#warn(`partition:${lane}`, `Partition ${lane} has not been readable for ${seconds} s: ${what}.`);
  }

  /** The broker has answered for the partition. */
  worked(lane: string): void {
    if (this.#troubles.delete(lane)) this.#warn(`partition:${lane}`);
  }
}
