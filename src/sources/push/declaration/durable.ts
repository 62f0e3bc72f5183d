/** The ledger of a push pipe. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../contract/durable.ts";

/** A batch: a range of offsets of the inbox, both ends included. */
const range = z.object({
  first: z.int(),
  last: z.int(),
  /** Offsets of rows that the engine refused, by the reason. Such a batch keeps its token under another id. */
  refused: z.optional(z.record(z.string(), z.array(z.union([z.number(), z.string()])))),
  attempt: z.optional(z.int()),
});

export const pushShapes = {
  replay: range,
  /** The offset of the first row that is not durable in the table. */
  checkpoint: z.int(),
  marks: {},
};

export type PushDurable = DurableOf<typeof pushShapes>;
export type RowRange = Stored<typeof range>;

/** The one lane of an inbox. */
export const inboxLane = "inbox";
