/** Decides what to do with a batch of messages that the engine refused. */
import type { InsertFailure, Query } from "../contract/source.ts";
import { findBadMessages } from "./bad-rows.ts";
import { shortMessage } from "./engine-message.ts";
import type { Position, SourceMessage } from "./message.ts";
import type { MessageBatch } from "./message-batch.ts";
import type { RowPlan } from "./plan.ts";

/** Reason by position. */
export type Refused = ReadonlyMap<Position, string>;

export type RefusalDecision =
  /** The same batch without these messages; it continues under the refused one's token. */
  | { readonly kind: "without"; readonly refused: Refused }
  /** Two batches with tokens of their own; the first ends with `lastOfFirst`. */
  | { readonly kind: "halves"; readonly lastOfFirst: Position }
  /** The messages are not the cause. */
  | { readonly kind: "stop" };

export async function decideRefusal<M extends SourceMessage>(
  batch: MessageBatch<M>,
  plan: RowPlan<M>,
  before: Refused,
  failure: InsertFailure,
  query: Query,
): Promise<RefusalDecision> {
  const found = await findBadMessages(batch, plan, failure, before.size > 0, query);
  if (found.size > 0) return { kind: "without", refused: new Map([...before, ...found]) };
  // With a failing view, rows may already be in the table, and with several schemas, rows of an earlier one are: other
  // tokens would duplicate them.
  if (/pushing to view/.test(failure.message) || batch.groups.length !== 1) return { kind: "stop" };
  const positions = batch.groups[0]?.positions ?? [];
  if (positions.length > 1) {
    return { kind: "halves", lastOfFirst: positions[Math.floor(positions.length / 2) - 1] as Position };
  }
  const [only] = positions;
  if (only === undefined) return { kind: "stop" };
  return { kind: "without", refused: new Map([...before, [only, shortMessage(failure.message)]]) };
}

/** What a batch's `replay` keeps: each reason once, with its positions. */
export function byReason(refused: Refused): Record<string, Position[]> {
  const positions: Record<string, Position[]> = {};
  for (const [position, reason] of refused) {
    positions[reason] ??= [];
    positions[reason].push(position);
  }
  return positions;
}

export function refusedOf(saved: Readonly<Record<string, readonly Position[]>> = {}): Map<Position, string> {
  const refused = new Map<Position, string>();
  for (const [reason, positions] of Object.entries(saved)) {
    for (const position of positions) refused.set(position, reason);
  }
  return refused;
}
