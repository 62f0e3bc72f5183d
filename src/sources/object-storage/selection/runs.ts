/** Which objects of a listing the engine can list by a prefix, and learn their versions from that. */
import { listedPrefix, maxPatternChars } from "../stores/keys.ts";
import type { ObjectFile } from "../stores/store.ts";

export type ListedPage = {
  /** Every key of the page in the store's order, including unwanted objects. */
  readonly keys: readonly string[];
  /** The last key before the page, and the first one after it; undefined where there is none. */
  readonly after: string | undefined;
  readonly next: string | undefined;
};

/** The engine asks for the version of each object of a smaller batch, which costs less than a batch more. */
const leastKeys = 50;

/** Runs of neighbours in a page. */
export class Runs {
  readonly #page: ListedPage;
  readonly #places: ReadonlyMap<string, number>;
  /** How many characters a key has in common with the one before it; the last number is that of the next page. */
  readonly #shared: readonly number[];

  constructor(page: ListedPage) {
    this.#page = page;
    this.#places = new Map(page.keys.map((key, at) => [key, at]));
    const all = [page.after, ...page.keys, page.next];
    this.#shared = all.slice(1).map((key, at) => sharedLength(all[at], key));
  }

  placeOf(key: string): number {
    return this.#places.get(key) as number;
  }

  /**
   * The place after the longest run from `start` that has a prefix of its own, no deeper folder, and at most `most`
   * keys. Undefined where there is no such run, or only one that is not worth a batch of its own.
   */
  endOf(start: number, most: number): number | undefined {
    const { keys } = this.#page;
    let prefix = Number.POSITIVE_INFINITY;
    let chars = 0;
    let folder = 0;
    let end: number | undefined;
    for (let at = start; at < keys.length && at - start < most; at += 1) {
      const key = keys[at] as string;
      if (at > start) prefix = Math.min(prefix, this.#shared[at] as number);
      // A longer run has no longer prefix.
      if (prefix <= (this.#shared[start] as number)) break;
      chars += key.length;
      folder = Math.max(folder, key.lastIndexOf("/") + 1);
      const count = at + 1 - start;
      const isApart = prefix > (this.#shared[at + 1] as number) && prefix >= folder;
      if (count >= leastKeys && isApart && chars - prefix * count <= maxPatternChars) end = at + 1;
    }
    return end;
  }

  /**
   * A common prefix of the files under which the store has few other keys, none in deeper folders, and none whose name
   * goes on after a file's, like that of a checksum beside it: the engine would read it with them.
   */
  prefixOf(files: readonly ObjectFile[]): string | undefined {
    const { keys: listed, after, next } = this.#page;
    const keys = new Set(files.map(({ key }) => key));
    const prefix = listedPrefix([...keys]);
    if (prefix === undefined) return undefined;
    const same = listed.filter((key) => key.startsWith(prefix));
    const isCut = after?.startsWith(prefix) === true || next?.startsWith(prefix) === true;
    const stems = [...keys].map((key) => key.slice(0, -1));
    const goesOn = (key: string) => !keys.has(key) && stems.some((stem) => key.startsWith(stem));
    const isApart = same.some((key) => key.includes("/", prefix.length) || goesOn(key));
    return isCut || isApart || same.length > 2 * files.length ? undefined : prefix;
  }
}

/** -1 where there is no neighbour: every prefix is one's own there. */
function sharedLength(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return -1;
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Each page waits for the one after it. */
export async function* withNext<Page extends Pick<ListedPage, "keys">>(
  pages: AsyncIterable<Page>,
): AsyncGenerator<Page & Pick<ListedPage, "next">> {
  let held: Page | undefined;
  for await (const page of pages) {
    if (held !== undefined) yield { ...held, next: page.keys[0] };
    held = page;
  }
  if (held !== undefined) yield { ...held, next: undefined };
}
