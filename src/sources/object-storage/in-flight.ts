/** What was handed out and is not durable yet, and from where a restart has to list. */
import type { StoredObject } from "./store.ts";

type Entry = {
  readonly etag: string;
  readonly size: number;
  /** The key listed before it; undefined for the very first. Not set for objects that no checkpoint waits for. */
  readonly after?: string | undefined;
  readonly counts: boolean;
};

export class InFlight {
  /** In the order in which they were handed out. */
  readonly #entries = new Map<string, Entry>();

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get files(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { size }) => sum + size, 0);
  }

  add({ key, etag, size }: StoredObject, listed?: { readonly after: string | undefined }): void {
    this.#entries.set(key, { etag, size, after: listed?.after, counts: listed !== undefined });
  }

  remove(key: string): void {
    this.#entries.delete(key);
  }

  /** The key up to which everything listed is durable, when everything up to `listed` was handed out. */
  durableUpTo(listed: string | undefined): string | undefined {
    for (const { after, counts } of this.#entries.values()) if (counts) return after;
    return listed;
  }
}
