/** Listings of a store that lies. */
import { AppError } from "../../../lib/errors.ts";
import { compareKeys } from "../selection/glob.ts";
import type { ListPage } from "./store.ts";

/** The limit of S3; names of Azure have as many characters. */
const maxKeyBytes = 4_096;
const maxEtagCharacters = 256;

const maxSize = Number.MAX_SAFE_INTEGER;

/** Throws SOURCE_INVALID for a listing that never ends, and for keys, ETags and sizes that no store has. */
export function requireListing(page: ListPage, after: string | undefined, place: string): ListPage {
  const long = page.files.find(({ key }) => Buffer.byteLength(key) > maxKeyBytes);
  if (long !== undefined) {
    throw new AppError("SOURCE_INVALID", `${place} lists a key of more than ${maxKeyBytes} bytes.`);
  }
  const lie = page.files.find(({ etag, size }) => etag.length > maxEtagCharacters || !(size >= 0 && size <= maxSize));
  if (lie !== undefined) {
    throw new AppError("SOURCE_INVALID", `${place} lists ${lie.key} with an ETag or a size that no store has.`);
  }
  const isStuck = page.last === undefined || (after !== undefined && compareKeys(page.last, after) <= 0);
  if (page.more && isStuck) {
    const message = `${place} lists no key after the ones before and says that there are more: its listing has no end.`;
    throw new AppError("SOURCE_INVALID", message);
  }
  return page;
}
