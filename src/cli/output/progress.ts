/**
 * One line of progress on stderr: redrawn on a terminal; elsewhere each different `key` is written once, so that logs
 * stay short.
 */
import type { Output } from "../environment.ts";
import { cutTo, printable, span } from "./text.ts";

export class Progress {
  readonly #output: Output;
  readonly #redraws: boolean;
  #key: string | undefined;
  #isOpen = false;

  constructor(output: Output, redraws: boolean) {
    this.#output = output;
    this.#redraws = redraws;
  }

  /** `key` is what a log must show, for example the state. */
  update(line: string, key: string): void {
    if (this.#redraws) {
      this.#output.write(`\r\u001b[2K${cutTo(printable(line), (this.#output.columns ?? 80) - 1)}`);
      this.#isOpen = true;
    } else if (key !== this.#key) this.#output.write(`${printable(line)}\n`);
    this.#key = key;
  }

  /** Ends the line; what was shown last stays. */
  end(): void {
    if (this.#isOpen) this.#output.write("\n");
    this.#isOpen = false;
  }
}

/** When a value was seen. What is not pending has ended. */
export type Moment = { readonly elapsedMs: number; readonly isPending: boolean };

/** `1,234 of 5,000, 250/s, 15s left`. Without a total, and at the end, there is no remaining time. */
export function advance(
  done: number,
  total: number | undefined,
  { elapsedMs, isPending }: Moment,
  show: (n: number) => string,
): string {
  const rate = elapsedMs > 500 ? done / (elapsedMs / 1000) : 0;
  const parts = [total === undefined ? show(done) : `${show(done)} of ${show(total)}`];
  if (rate > 0) parts.push(`${show(rate)}/s`);
  const left = isPending && total !== undefined && rate > 0 ? Math.ceil((total - done) / rate) : 0;
  if (left > 0) parts.push(`${span(left)} left`);
  return parts.join(", ");
}
