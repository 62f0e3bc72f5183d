/** Encodes messages as the rows of one format. */
import type { FoundField } from "../../contract/discovery.ts";
import type { SourceMessage } from "../message.ts";
import type { RowPlan } from "../plan.ts";
import type { MessageRowWriter } from "../row-writer.ts";

/**
 * Rows sent to the engine in one statement. Formats whose rows need a schema have one group per schema; a group's
 * content is `head` followed by its rows.
 */
export type RowGroup = { readonly key: string; readonly head: Buffer };

export interface RowEncoder<M extends SourceMessage> {
  readonly plan: RowPlan<M>;
  /**
   * Obtains what the message needs before it can be encoded; undefined when nothing is missing. Throws a retryable
   * AppError.
   */
  prepare(message: M): Promise<void> | undefined;
  /** The message's group, or the reason why it can never be a row. */
  group(message: M): RowGroup | string;
  /** Writes the row; on failure returns the reason and writes nothing. */
  write(message: M, group: RowGroup, to: MessageRowWriter): string | undefined;
  /** Fields of the messages of a group, where a schema describes them better than the rows. */
  fields?(group: RowGroup): readonly FoundField[];
}
