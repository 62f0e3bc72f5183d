/** Changes that add to a list of a source's configuration, or take from it, instead of replacing the list. */
import type { z } from "zod";
import type { Issue } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";

export type ListChange = {
  /** What a change request may have besides the members of a create request. */
  readonly members: Readonly<Record<string, z.ZodType>>;
  /** The change with the whole list in place of these members. Paths of issues are below the kind's member. */
  apply(current: JsonObject, change: JsonObject): ListChanged;
};

export type ListChanged = {
  readonly change: JsonObject;
  /** Destination tables that are taken out: should they come back, they begin anew. */
  readonly removed: readonly string[];
  readonly issues: readonly Issue[];
};
