/** Runs work in lanes: one after the other within a lane, lanes side by side up to a limit. */

export class Lanes {
  readonly #limit: number;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  /** Work that has not ended, in the order it was added, with the number of works that had ended by then. */
  readonly #startedAt = new Map<Promise<void>, number>();
  #ended = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves once the work has a place, which is the back-pressure for its maker. Throws when earlier work failed. */
  async add(lane: string, work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    this.#check();
    const before = this.#tails.get(lane) ?? Promise.resolve();
    const mine = before
      .then(() => (this.#failure === undefined ? work() : undefined))
      .catch((error) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(mine);
        this.#startedAt.delete(mine);
        this.#ended += 1;
        if (this.#tails.get(lane) === mine) this.#tails.delete(lane);
      });
    this.#tails.set(lane, mine);
    this.#running.add(mine);
    this.#startedAt.set(mine, this.#ended);
  }

  /** Waits while more than `limit` works have ended since the oldest running one was added. */
  async overtakenAtMost(limit: number): Promise<void> {
    for (;;) {
      const [oldest] = this.#startedAt;
      if (oldest === undefined || this.#ended - oldest[1] <= limit) return this.#check();
      await oldest[0];
    }
  }

  /** Waits for everything that was added. Throws the first failure. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#check();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
