/** Closes opened resources in reverse order, each step with a name and a time limit. */
import type { Logger } from "./logger.ts";

type Step = { readonly name: string; readonly close: () => unknown };

const stepTimeoutMs = 15_000;

export class ShutdownStack {
  readonly #steps: (readonly Step[])[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, close: () => unknown): void {
    this.#steps.push([{ name, close }]);
  }

  /** Closed at the same time. */
  addTogether(closes: Readonly<Record<string, () => unknown>>): void {
    this.#steps.push(Object.entries(closes).map(([name, close]) => ({ name, close })));
  }

  /** Runs every step even when one fails or hangs; failures are logged. */
  async closeAll(): Promise<void> {
    for (let steps = this.#steps.pop(); steps; steps = this.#steps.pop()) {
      await Promise.all(steps.map((step) => this.#close(step)));
    }
  }

  async #close({ name, close }: Step): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not closed after ${stepTimeoutMs} ms`)), stepTimeoutMs);
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
