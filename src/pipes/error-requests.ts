/**
 * What the ledger keeps of the batches that replay or discard refused rows. They have a lane of their own, which the
 * workers that read the source do not see. Only the control plane loads this file; a worker loads its types.
 */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../sources/contract/durable.ts";

/** Rows of the error table that one batch replays. */
const rows = z.object({
  request: z.string(),
  by: z.string(),
  /** Milliseconds since 1970: what the rows are marked with. */
  at: z.int(),
  rows: z.array(z.string()),
  /** Ids of rows that were refused again, by the reason. */
  refused: z.record(z.string(), z.array(z.string())),
  /** How often the batch was refused and replaced under the same token. */
  attempt: z.int(),
});

/** The rows of a request that are deleted. */
const discard = z.object({ request: z.string(), discard: z.int() });

/** The last batch of a request: everything before it is durable. */
const end = z.object({ request: z.string(), end: z.literal(true) });

export const errorRequestShapes = { replay: z.union([rows, discard, end]), checkpoint: z.never(), marks: {} };

export type ErrorRequestDurable = DurableOf<typeof errorRequestShapes>;
export type ReplayedRows = Stored<typeof rows>;
