/** What the source needs of an object store: pages of a listing, one object's version, and secrets for the engine. */

/** One version of an object. The etag is bare: stores differ in whether they quote it, and in lists from elsewhere. */
export type StoredObject = { readonly key: string; readonly etag: string; readonly size: number };

export type Page = {
  /** In the store's key order; without "directories" and empty objects. */
  readonly objects: readonly StoredObject[];
  /** The last key looked at, whether it is among the objects or not. */
  readonly last: string | undefined;
  /** Where the next page begins; undefined at the end. */
  readonly cursor: string | undefined;
};

export type PageRequest = {
  /** Keys up to this one are left out. */
  readonly after: string | undefined;
  readonly cursor?: string | undefined;
  readonly pageSize?: number;
};

export interface ObjectStore {
  /** One LIST request: at most 1000 keys below the prefix. Throws AppError SOURCE_*. */
  page(request: PageRequest, signal: AbortSignal): Promise<Page>;
  /** The object's present version; undefined when it is gone. Throws AppError SOURCE_*. */
  head(key: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /** Secrets of the reading table function, by parameter name, valid now. */
  readParams(): Promise<Readonly<Record<string, string>>>;
  close(): void;
}

export function bareEtag(etag: string | undefined): string {
  return (etag ?? "").replace(/^W\//, "").replace(/^"|"$/g, "");
}

/** Parameters travel in the engine's escaped text form. */
export function escapeParameter(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n");
}
