/** Turns messages into the rows of one format. */
import type { FoundField } from "../../source.ts";
import type { Message } from "../message.ts";
import type { RowPlan } from "../plan.ts";
import type { RowWriter } from "../row-writer.ts";

/**
 * Rows that go to the engine in one statement. Formats whose rows need a schema have one group per schema; a group's
 * content is `head` followed by its rows.
 */
export type RowGroup = { readonly key: string; readonly head: Buffer };

export interface RowEncoder<M extends Message> {
  readonly plan: RowPlan<M>;
  /** What must be had before the message can be encoded, if it is not there yet; throws a retryable AppError. */
  prepare(message: M): Promise<void> | undefined;
  /** The group that the message belongs to, or why it can never be a row. */
  group(message: M): RowGroup | string;
  /** Writes the row; returns why not, and then has written nothing. */
  write(message: M, group: RowGroup, to: RowWriter): string | undefined;
  /** Fields of the messages of a group, where a schema knows them better than the rows do. */
  fields?(group: RowGroup): readonly FoundField[];
}
