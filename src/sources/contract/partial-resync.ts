/** How a part of what a pipe has loaded is loaded again, while everything else goes on. */
import type { Json, JsonObject } from "../../lib/json.ts";

export type TableResync = {
  /** Why such a pipe cannot; undefined when it can. */
  problem(config: JsonObject): string | undefined;
  /** Key of the mark of a destination table. */
  markOf(targetTable: string): string;
  /** Key of the mark that is `true` when nothing but loading the whole source anew helps. */
  readonly lostMark: string;
  /** What the ledger keeps of a table that is to be loaded anew, from what it keeps now. */
  again(mark: Json): Json;
};

export type ObjectResync = {
  /** Prefix of the keys of objects' marks; the object's own key follows. */
  readonly prefix: string;
  /** Members of the mark of an object that is to be loaded again. */
  readonly patch: JsonObject;
  /** The member that counts these requests. */
  readonly counter: string;
  /** Key of the mark that lists prefixes of these objects in its member `prefixes`. */
  readonly list: string;
};

/** Objects that a pipe has read: one, or all with a prefix. */
export type ObjectSelection = { readonly key: string } | { readonly prefix: string };
