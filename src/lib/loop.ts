/**
 * A reconciler loop. The body takes no input: a poke, a timer tick and a restart are one code path. It never runs twice
 * at once; a poke during a pass causes exactly one more pass. A failed pass is recorded and retried.
 */
import { sleep } from "./abort.ts";
import type { Logger } from "./logger.ts";

export type LoopStatus = {
  readonly name: string;
  readonly running: boolean;
  readonly passes: number;
  readonly consecutiveFailures: number;
  readonly lastError: string | undefined;
};

export class Loop {
  readonly #name: string;
  readonly #everyMs: number;
  readonly #body: (signal: AbortSignal) => Promise<void>;
  readonly #logger: Logger;
  #poked = true;
  #wake: () => void = () => {};
  #waiting: (() => void)[] = [];
  #running = false;
  #passes = 0;
  #failures = 0;
  #lastError: string | undefined;

  constructor(options: {
    name: string;
    everyMs: number;
    logger: Logger;
    body: (signal: AbortSignal) => Promise<void>;
  }) {
    this.#name = options.name;
    this.#everyMs = options.everyMs;
    this.#body = options.body;
    this.#logger = options.logger.child({ loop: options.name });
  }

  /** Requests a pass as soon as possible. */
  poke(): void {
    this.#poked = true;
    this.#wake();
  }

  /**
   * Requests a pass and resolves when one that began after the call has ended, with or without an error, or after
   * `limitMs`.
   */
  passed(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.poke();
    });
  }

  status(): LoopStatus {
    return {
      name: this.#name,
      running: this.#running,
      passes: this.#passes,
      consecutiveFailures: this.#failures,
      lastError: this.#lastError,
    };
  }

  /** Runs passes until the signal aborts; resolves when the current pass has ended. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#poked = false;
      this.#running = true;
      const waiting = this.#waiting.splice(0);
      try {
        await this.#body(signal);
        this.#failures = 0;
        this.#lastError = undefined;
      } catch (error) {
        if (signal.aborted) break;
        this.#failures += 1;
        this.#lastError = error instanceof Error ? error.message : String(error);
        this.#logger[this.#failures > 3 ? "error" : "warn"](
          { err: error, failures: this.#failures },
          "loop pass failed",
        );
      } finally {
        this.#running = false;
        this.#passes += 1;
        for (const done of waiting) done();
      }
      await this.#idle(signal);
    }
  }

  async #idle(signal: AbortSignal): Promise<void> {
    if (this.#poked || signal.aborted) return;
    const tick = new AbortController();
    const stop = () => tick.abort();
    this.#wake = stop;
    signal.addEventListener("abort", stop);
    await sleep(this.#everyMs, tick.signal);
    signal.removeEventListener("abort", stop);
    this.#wake = () => {};
  }
}
