/** Answers kept for a short while, least recently used out first. Keys say everything an answer depends on. */

type Entry<V> = { readonly value: V; readonly size: number; readonly expiresAt: number };

export class ChartAnswerCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #options: { readonly bytes: number; readonly ttlMs: number; readonly now: () => number };
  #size = 0;

  constructor(options: { bytes: number; ttlMs: number; now?: () => number }) {
    this.#options = { now: () => performance.now(), ...options };
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#remove(key, entry);
    if (entry.expiresAt <= this.#options.now()) return undefined;
    this.#entries.set(key, entry);
    this.#size += entry.size;
    return entry.value;
  }

  has(key: string): boolean {
    return (this.#entries.get(key)?.expiresAt ?? 0) > this.#options.now();
  }

  /** Keeps a value of about `size` bytes, unless it alone would fill a quarter of the room. */
  set(key: string, value: V, size: number): void {
    const old = this.#entries.get(key);
    if (old !== undefined) this.#remove(key, old);
    if (size > this.#options.bytes / 4) return;
    this.#entries.set(key, { value, size, expiresAt: this.#options.now() + this.#options.ttlMs });
    this.#size += size;
    for (const [oldest, entry] of this.#entries) {
      if (this.#size <= this.#options.bytes) break;
      this.#remove(oldest, entry);
    }
  }

  #remove(key: string, entry: Entry<V>): void {
    this.#entries.delete(key);
    this.#size -= entry.size;
  }
}
