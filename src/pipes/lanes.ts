/** Runs work in lanes: one after the other within a lane, lanes side by side up to a limit. */

export class Lanes {
  readonly #limit: number;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
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
        if (this.#tails.get(lane) === mine) this.#tails.delete(lane);
      });
    this.#tails.set(lane, mine);
    this.#running.add(mine);
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
