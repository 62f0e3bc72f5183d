/** Lists that are read again only after a write: the loops look at all services and pipes every second. */
import type { Database } from "./database.ts";

/**
 * A function that returns the list as of now, and the same array as before while nothing was written. Every write that
 * may change the list must raise the revision of `db`.
 */
export function keptList<T>(
  db: Pick<Database, "revision">,
  read: () => Promise<readonly T[]>,
): () => Promise<readonly T[]> {
  let kept: { readonly revision: number; readonly list: readonly T[] } | undefined;
  return async () => {
    // Before the rows are read: a write that ends meanwhile raises it, and the list is read again.
    const revision = db.revision();
    if (kept?.revision === revision) return kept.list;
    const list = await read();
    kept = { revision, list };
    return list;
  };
}
