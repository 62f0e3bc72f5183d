/** The ledger of a Kafka pipe. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../contract/durable.ts";

/** A batch: a range of offsets of one partition. */
const range = z.object({
  topic: z.string(),
  partition: z.int(),
  topicId: z.string(),
  /** Offsets of the first and last message; absent when the lane only advanced. */
  first: z.optional(z.int()),
  last: z.optional(z.int()),
  /** The lane's next offset afterwards. */
  next: z.int(),
  /** Maximum message size in bytes when the batch was begun. */
  limit: z.number(),
  /** Offsets of messages that the engine refused, by the reason. */
  refused: z.optional(z.record(z.string(), z.array(z.union([z.number(), z.string()])))),
  continues: z.optional(z.string()),
  /** Another batch of the same messages carries the checkpoint. */
  partial: z.optional(z.literal(true)),
});

/** The offset of the first message of a partition that is not durable. */
const checkpoint = z.object({ topicId: z.string(), next: z.int() });

/** Where the pipe begins to read the partitions of a topic. */
const begin = z.object({ topicId: z.string(), offsets: z.record(z.string(), z.int()) });

/** The cluster whose offsets the positions are, and the topics that have positions. */
const subscription = z.object({ cluster: z.nullable(z.string()), topics: z.array(z.string()) });

export const kafkaShapes = { replay: range, checkpoint, marks: { "begin:": begin, subscription } };

export type KafkaDurable = DurableOf<typeof kafkaShapes>;
export type OffsetRange = Stored<typeof range>;
export type Checkpoint = Stored<typeof checkpoint>;
