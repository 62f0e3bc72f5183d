/** Limits concurrency. */

/** The queue is full. */
export class LineFull extends Error {}

type LimiterOptions = {
  /** Maximum number of concurrent holders. */
  readonly slots: number;
  /** Maximum number of waiting callers; unlimited when undefined. */
  readonly line?: number;
};

export class Limiter {
  readonly #limits: LimiterOptions;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(limits: LimiterOptions) {
    this.#limits = limits;
  }

  /** True when no slot is taken. */
  get isIdle(): boolean {
    return this.#inside === 0;
  }

  /**
   * Waits for a slot, in order of arrival. The returned function releases it; further calls do nothing. Rejects with
   * LineFull, or with the signal's reason once it aborts.
   */
  async enter(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#inside < this.#limits.slots) this.#inside += 1;
    else {
      const { line = Number.POSITIVE_INFINITY } = this.#limits;
      if (this.#waiting.length >= line) throw new LineFull(`${line} are waiting`);
      await this.#turn(signal);
    }
    let isInside = true;
    return () => {
      if (isInside) this.#leave();
      isInside = false;
    };
  }

  /** Runs the work in a slot; rejects as `enter` does, or as the work. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leave = await this.enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** The slot passes to the next waiting caller, so that nobody overtakes. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(take);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

/**
 * Runs `work` for every item, at most `slots` at a time; after a failure no more items start, and the first error is
 * thrown.
 */
export async function eachOf<T>(items: Iterable<T>, slots: number, work: (item: T) => Promise<void>): Promise<void> {
  const limiter = new Limiter({ slots });
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  for (const item of items) {
    const leave = await limiter.enter();
    if (failure !== undefined) break;
    const one: Promise<void> = work(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running.delete(one);
        leave();
      });
    running.add(one);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
}
