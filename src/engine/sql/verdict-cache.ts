/** Caches results by text. The oldest entries are evicted when there are too many or their texts are too long. */
export class TextCache<V> {
  readonly #entries = new Map<string, V>();
  readonly #maxEntries: number;
  readonly #maxLength: number;
  #length = 0;

  /** `maxLength` bounds the sum of the lengths of all texts. */
  constructor(maxEntries: number, maxLength: number) {
    this.#maxEntries = maxEntries;
    this.#maxLength = maxLength;
  }

  get(text: string): V | undefined {
    const value = this.#entries.get(text);
    if (value === undefined) return undefined;
    this.#entries.delete(text);
    this.#entries.set(text, value);
    return value;
  }

  set(text: string, value: V): void {
    if (text.length > this.#maxLength / 8) return;
    if (this.#entries.delete(text)) this.#length -= text.length;
    this.#entries.set(text, value);
    this.#length += text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#length <= this.#maxLength) return;
      this.#entries.delete(oldest);
      this.#length -= oldest.length;
    }
  }

  /** Number of cached texts. */
  get size(): number {
    return this.#entries.size;
  }
}
