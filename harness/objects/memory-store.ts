/** An object store in memory. */
import type { ObjectFile, ObjectStore } from "../../src/sources/object-storage/stores/store.ts";

export type MemoryOptions = {
  /** Keys of one page. */
  readonly perPage: number;
  /** Must differ where contents do. */
  readonly etagOf: (content: string) => string;
};

/** Contents by key. The parameter `keys` of a reader holds what the engine would read. */
export class MemoryObjects implements ObjectStore {
  readonly #contents: ReadonlyMap<string, string>;
  readonly #options: MemoryOptions;
  /** The keys after which the objects were listed. */
  readonly lists: (string | undefined)[] = [];

  constructor(contents: ReadonlyMap<string, string>, options: MemoryOptions) {
    this.#contents = contents;
    this.#options = options;
  }

  async list(prefix: string, after: string | undefined) {
    this.lists.push(after);
    const { perPage, etagOf } = this.#options;
    const keys = [...this.#contents.keys()].filter((key) => key.startsWith(prefix) && key > (after ?? "")).sort();
    const files = keys.slice(0, perPage).map((key): ObjectFile => {
      const content = this.#contents.get(key) as string;
      return { key, etag: etagOf(content), size: content.length };
    });
    return { files, more: keys.length > perPage, last: files.at(-1)?.key };
  }

  pathOf(key: string): string {
    return key;
  }

  async reader(keys: readonly string[]) {
    return { head: "memory(", params: { keys: JSON.stringify(keys) } };
  }

  head(): never {
    throw new Error("nothing here is decompressed");
  }

  download(): never {
    throw new Error("nothing here is decompressed");
  }

  close(): void {}
}
