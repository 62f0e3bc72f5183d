/** The ledger of a Kinesis pipe. Positions are texts, see `../reading/position.ts`. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../contract/durable.ts";

/** A batch: a range of the records of one shard. Both ends are included; with `after` the first one is not. */
const range = z.object({
  shard: z.string(),
  first: z.string(),
  last: z.string(),
  after: z.optional(z.literal(true)),
  /** Positions of messages that the engine refused, by the reason. Such a batch keeps its token under another id. */
  refused: z.optional(z.record(z.string(), z.array(z.union([z.number(), z.string()])))),
  attempt: z.optional(z.int()),
});

/** The batch that marks a shard as finished. */
const end = z.object({ shard: z.string(), end: z.literal(true) });

/** Where the pipe begins. `known`: the shards at that moment. `closed`: those with nothing newer than LATEST. */
const start = z.object({
  type: z.enum(["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]),
  ms: z.number(),
  known: z.array(z.string()),
  closed: z.array(z.string()),
});

export const kinesisShapes = {
  replay: z.union([end, range]),
  /** Position of the last durable message of a shard. */
  checkpoint: z.string(),
  marks: { start, "shard:": z.literal("finished") },
};

export type KinesisDurable = DurableOf<typeof kinesisShapes>;
export type RangeReplay = Stored<typeof range>;
export type FrozenStart = Stored<typeof start>;
