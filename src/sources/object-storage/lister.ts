/** Listing what there is to load: matching objects whose version is neither marked nor on its way. */
import type { JsonObject, SourceContext } from "../source.ts";
import type { InFlight } from "./in-flight.ts";
import { type Location, matcherOf, nameOf } from "./location.ts";
import { patiently } from "./patience.ts";
import type { ObjectStore, Page, StoredObject } from "./store.ts";

export type Found = StoredObject & {
  /** The key listed before it. */
  readonly after: string | undefined;
};

export type News = { readonly found: readonly Found[]; readonly last: string | undefined };

export class Lister {
  readonly #context: SourceContext;
  readonly #store: ObjectStore;
  readonly #location: Location;
  readonly #inFlight: InFlight;
  readonly #matches: (key: string) => boolean;
  #sweptTo: string | undefined;

  constructor(context: SourceContext, store: ObjectStore, location: Location, inFlight: InFlight) {
    this.#context = context;
    this.#store = store;
    this.#location = location;
    this.#inFlight = inFlight;
    this.#matches = matcherOf(location.pattern);
  }

  matches(key: string): boolean {
    return this.#matches(key);
  }

  /** Everything after the given key, page by page, to the end. Trouble with the store is waited out. */
  async *pages(after: string | undefined, signal: AbortSignal): AsyncGenerator<News> {
    let cursor: string | undefined;
    let before = after;
    do {
      const page = await this.#page({ after, cursor }, signal);
      cursor = page.cursor;
      yield { found: await this.#news(page, before), last: page.last };
      before = page.last ?? before;
    } while (cursor !== undefined && !signal.aborted);
  }

  /**
   * The next page of a round over the keys between `from` and `to`, for late and replaced objects. One LIST request,
   * however many objects there are; the round starts again after its end.
   */
  async sweep(from: string | undefined, to: string | undefined, signal: AbortSignal): Promise<readonly Found[]> {
    if (to === undefined) return [];
    const page = await this.#page({ after: this.#sweptTo ?? from }, signal);
    const atEnd = page.cursor === undefined || page.last === undefined || isAfter(page.last, to);
    this.#sweptTo = atEnd ? undefined : page.last;
    const objects = page.objects.filter(({ key }) => !isAfter(key, to));
    return await this.#news({ ...page, objects }, undefined);
  }

  /** Of the given objects, those whose version is neither done nor on its way. */
  async pending(objects: readonly StoredObject[]): Promise<StoredObject[]> {
    const marks = await this.marks(objects);
    return objects.filter(({ key, etag }) => marks.get(key)?.etag !== etag && !this.#inFlight.has(key));
  }

  /** What is known of the objects, by key. */
  async marks(objects: readonly StoredObject[]): Promise<Map<string, { etag?: string; failed?: boolean }>> {
    const names = new Map(objects.map(({ key }) => [nameOf(this.#location, key), key]));
    const marks = await this.#context.marks.get([...names.keys()]);
    return new Map([...marks].map(([name, mark]) => [names.get(name) ?? "", mark as JsonObject]));
  }

  #page(request: { after: string | undefined; cursor?: string | undefined }, signal: AbortSignal): Promise<Page> {
    return patiently(this.#context, () => this.#store.page(request, signal), signal);
  }

  async #news(page: Page, before: string | undefined): Promise<Found[]> {
    let after = before;
    const found = page.objects.map((object) => {
      const listed = { ...object, after };
      after = object.key;
      return listed;
    });
    const matching = found.filter(({ key }) => this.#matches(key));
    const pending = new Set((await this.pending(matching)).map(({ key }) => key));
    return matching.filter(({ key }) => pending.has(key));
  }
}

/** Stores order keys by their UTF-8 bytes, which is not the order of JavaScript's strings. */
function isAfter(key: string, other: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(other)) > 0;
}
