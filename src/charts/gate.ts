/** How many chart requests of one token run at a time. Those beyond wait their turn; a long queue is refused. */
import { AppError } from "../lib/errors.ts";
import { Limiter, LineFull } from "../lib/limiter.ts";

export class TokenGate {
  readonly #limits: { readonly slots: number; readonly line: number };
  /** By token, while any request of it runs. */
  readonly #limiters = new Map<string, Limiter>();

  constructor(limits: { running: number; waiting: number }) {
    this.#limits = { slots: limits.running, line: limits.waiting };
  }

  /**
   * Waits for a place; the returned function gives it back. Throws TOO_MANY_REQUESTS when the queue is full, or the
   * signal's reason.
   */
  async enter(token: string, signal: AbortSignal): Promise<() => void> {
    const limiter = this.#limiters.get(token) ?? new Limiter(this.#limits);
    this.#limiters.set(token, limiter);
    try {
      const leave = await limiter.enter(signal);
      return () => {
        leave();
        this.#forgetIdle(token, limiter);
      };
    } catch (error) {
      this.#forgetIdle(token, limiter);
      if (!(error instanceof LineFull)) throw error;
      throw new AppError("TOO_MANY_REQUESTS", `More than ${this.#limits.line} charts of this token are waiting.`);
    }
  }

  #forgetIdle(token: string, limiter: Limiter): void {
    if (limiter.isIdle && this.#limiters.get(token) === limiter) this.#limiters.delete(token);
  }
}
