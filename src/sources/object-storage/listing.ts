/** What a bucket or container has one level below a prefix. */
import { withinTime } from "../../lib/within-time.ts";
import type { ListedPrefix, ListingPage, SourceListing } from "../contract/listing.ts";
import { keyPattern } from "./selection/glob.ts";
import type { FolderStore, ObjectStore } from "./stores/store.ts";

/** One request counts up to a thousand objects of a prefix. */
const counting = { ms: 4_000, concurrency: 8 };

/**
 * Prefixes and objects directly below `within`; without it, below the folder of the pattern's part before the first
 * wildcard. The cursor is the store's own.
 */
export async function listFolder(
  store: FolderStore,
  pattern: string,
  { within, cursor, limit }: ListingPage,
  signal: AbortSignal,
): Promise<SourceListing> {
  const folder = folderOf(within ?? keyPattern(pattern).prefix);
  const page = await store.folder(folder, cursor, limit, signal);
  const counts = await withinTime(page.prefixes, counting, (prefix) => count(store, prefix, signal));
  const prefixes = page.prefixes.map((prefix, at): ListedPrefix => ({ prefix, ...counts[at] }));
  const objects = page.files.map(({ key, size }) => ({ key, bytes: size }));
  return { prefixes, objects, ...(page.token === undefined ? {} : { nextCursor: page.token }) };
}

async function count(store: ObjectStore, prefix: string, signal: AbortSignal): Promise<Omit<ListedPrefix, "prefix">> {
  const { files, more } = await store.list(prefix, undefined, signal);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { objects: files.length, bytes, ...(more ? { hasMore: true } : {}) };
}

function folderOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf("/") + 1);
}
