/** Listings of a store that lies. */
import { AppError } from "../../../lib/errors.ts";
import { compareKeys } from "../selection/glob.ts";
import type { ListPage } from "./store.ts";

/** The limit of S3; names of Azure have as many characters. */
const maxKeyBytes = 4_096;

/** Throws SOURCE_INVALID for a listing that never ends, and for keys that no store has. */
export function requireListing(page: ListPage, after: string | undefined, place: string): ListPage {
  const long = page.files.find(({ key }) => Buffer.byteLength(key) > maxKeyBytes);
  if (long !== undefined) {
    throw new AppError("SOURCE_INVALID", `${place} lists a key of more than ${maxKeyBytes} bytes.`);
  }
  const isStuck = page.last === undefined || (after !== undefined && compareKeys(page.last, after) <= 0);
  if (page.more && isStuck) {
    const message = `${place} lists no key after the ones before and says that there are more: its listing has no end.`;
    throw new AppError("SOURCE_INVALID", message);
  }
  return page;
}
