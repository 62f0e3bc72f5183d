/**
 * Reports partitions and brokers that cannot be read, until they work again or are not the pipe's any more. It outlives
 * a single attempt to read, so that an attempt that begins well hides nothing.
 */

/** Elections of leaders and restarts of brokers take less time. */
const quietMs = 5_000;

type Trouble = { readonly since: number; readonly what: string };

export class Troubles {
  readonly #warn: (key: string, message?: string) => void;
  readonly #now: () => number;
  readonly #passing = new Map<string, Trouble>();
  readonly #warned = new Set<string>();

  /** `warn` makes the pipe Degraded with the message, until it is called without one. */
  constructor(warn: (key: string, message?: string) => void, now = () => performance.now()) {
    this.#warn = warn;
    this.#now = now;
  }

  /** The partition cannot be read now. `what` is its error, or the reason why no broker can be asked. */
  failed(lane: string, what: string): void {
    const key = partitionKey(lane);
    const since = this.#passing.get(key)?.since ?? this.#now();
    this.#passing.set(key, { since, what });
    if (this.#now() - since < quietMs) return;
    const seconds = Math.round((this.#now() - since) / 1_000);
    this.refused(key, `Partition ${lane} has not been readable for ${seconds} s: ${what}.`);
  }

  /** Reading a partition or broker failed in a way that another attempt alone does not mend. */
  refused(key: string, message: string): void {
    this.#warned.add(key);
    this.#warn(key, message);
  }

  /** The broker has answered, for a partition or at all. */
  worked(key: string): void {
    this.#passing.delete(key);
    if (this.#warned.delete(key)) this.#warn(key);
  }

  /** Forgets all others: they are read by another worker, or do not exist any more. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of [...this.#passing.keys(), ...this.#warned]) if (!keys.has(key)) this.worked(key);
  }
}

export function partitionKey(lane: string): string {
  return `partition:${lane}`;
}

export function brokerKey(broker: number): string {
  return `broker:${broker}`;
}
