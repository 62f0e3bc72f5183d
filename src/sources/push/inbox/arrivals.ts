/** When the rows that are not loaded yet arrived, and how many bytes they have, by groups of rows. */
import { steadyNow } from "./keys.ts";

type Arrival = { end: number; readonly at: number; bytes: number };

/** Beyond this number neighbours are joined. */
const most = 1_000;

export class Arrivals {
  /** In the order of offsets. */
  #list: Arrival[] = [];

  /** Rows up to this offset; `at` is a time of `steadyNow`. */
  add(end: number, bytes: number, at = steadyNow()): void {
    this.#list.push({ end, at: Math.min(at, steadyNow()), bytes });
    if (this.#list.length > most) this.#join();
  }

  /** Everything before the offset is loaded. */
  loaded(next: number): void {
    const rest = this.#list.findIndex(({ end }) => end > next);
    this.#list = rest < 0 ? [] : this.#list.slice(rest);
  }

  /** Bytes of the rows from this offset on, and the age of the oldest of them in ms, if there are any. */
  after(offset: number): { readonly bytes: number; readonly ageMs: number | undefined } {
    let bytes = 0;
    let oldest: number | undefined;
    for (const { end, at, bytes: own } of this.#list) {
      if (end <= offset) continue;
      oldest ??= at;
      bytes += own;
    }
    return { bytes, ageMs: oldest === undefined ? undefined : Math.max(0, steadyNow() - oldest) };
  }

  #join(): void {
    const joined: Arrival[] = [];
    for (let at = 0; at < this.#list.length; at += 2) {
      const [first, second] = this.#list.slice(at, at + 2) as [Arrival, Arrival | undefined];
      joined.push(second === undefined ? first : { ...first, end: second.end, bytes: first.bytes + second.bytes });
    }
    this.#list = joined;
  }
}
