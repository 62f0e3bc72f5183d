/** Closes opened resources in reverse order, each step with a name and a time limit. */
import type { Logger } from "./logger.ts";

export class ShutdownStack {
  readonly #steps: { name: string; close: () => unknown }[] = [];
  readonly #logger: Logger;
  readonly #stepTimeoutMs: number;

  constructor(logger: Logger, stepTimeoutMs = 15_000) {
    this.#logger = logger;
    this.#stepTimeoutMs = stepTimeoutMs;
  }

  add(name: string, close: () => unknown): void {
    this.#steps.push({ name, close });
  }

  /** Runs every step even when one fails or hangs; failures are logged. */
  async closeAll(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      const { name, close } = step;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not closed after ${this.#stepTimeoutMs} ms`)), this.#stepTimeoutMs);
      });
      try {
        await Promise.race([Promise.resolve().then(close), late]);
      } catch (error) {
        this.#logger.warn({ err: error, step: name }, "close failed");
      } finally {
        clearTimeout(timer);
      }
    }
  }
}
