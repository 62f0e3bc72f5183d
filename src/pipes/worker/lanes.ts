import { Limiter } from "../../lib/limiter.ts";

/** Runs work concurrently, up to a limit, and sequentially within a lane. The first failure ends all. */
export class Lanes {
  readonly #limiter: Limiter;
  readonly #running = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limiter = new Limiter({ slots: Math.max(1, limit) });
  }

  /** Resolves when the work has begun: when its lane and a slot are free. One call at a time. */
  async start(lane: string, work: () => Promise<void>): Promise<void> {
    await this.#running.get(lane);
    this.#throwFailure();
    const leave = await this.#limiter.enter();
    this.#throwFailure();
    const running = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(lane);
        leave();
      });
    this.#running.set(lane, running);
  }

  /** Resolves when nothing runs; throws the first failure. */
  async settle(): Promise<void> {
    await Promise.all(this.#running.values());
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
