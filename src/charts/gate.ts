/** How many chart requests of one token run at a time. Those beyond wait their turn; a long queue is refused. */
import { AppError } from "../lib/errors.ts";

type Lane = { running: number; readonly waiting: (() => void)[] };

export class TokenGate {
  readonly #running: number;
  readonly #waiting: number;
  readonly #lanes = new Map<string, Lane>();

  constructor(limits: { running: number; waiting: number }) {
    this.#running = limits.running;
    this.#waiting = limits.waiting;
  }

  /**
   * Waits for a place; the returned function gives it back and must be called once. Throws TOO_MANY_REQUESTS when the
   * queue is full, or the signal's reason.
   */
  async enter(token: string, signal: AbortSignal): Promise<() => void> {
    const lane = this.#lanes.get(token) ?? { running: 0, waiting: [] };
    this.#lanes.set(token, lane);
    if (lane.running >= this.#running) {
      if (lane.waiting.length >= this.#waiting) {
        throw new AppError("TOO_MANY_REQUESTS", `More than ${this.#waiting} charts of this token are waiting.`);
      }
      await this.#turn(lane, signal);
    } else lane.running += 1;
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      const next = lane.waiting.shift();
      // The place passes to the next one waiting, so the count stays.
      if (next !== undefined) next();
      else lane.running -= 1;
      if (lane.running === 0) this.#lanes.delete(token);
    };
  }

  #turn(lane: Lane, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        lane.waiting.splice(lane.waiting.indexOf(take), 1);
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      lane.waiting.push(take);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
