/** Runs work side by side, up to a limit, with at most one piece of a lane at a time. The first failure ends all. */
export class Lanes {
  readonly #limit: number;
  readonly #running = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /** Resolves when the work has begun: when its lane is free and a place among the running ones. */
  async start(lane: string, work: () => Promise<void>): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      const same = this.#running.get(lane);
      if (same !== undefined) await same;
      else if (this.#running.size >= this.#limit) await Promise.race(this.#running.values());
      else break;
    }
    const running = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(lane));
    this.#running.set(lane, running);
  }

  /** Resolves when nothing runs any more; throws the first failure. */
  async settle(): Promise<void> {
    await Promise.all(this.#running.values());
    if (this.#failure) throw this.#failure.error;
  }
}
