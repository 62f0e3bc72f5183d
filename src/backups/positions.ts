/**
 * Reads the positions of a service's pipes so that they match the snapshot of its tables.
 *
 * A pipe saves an intent, inserts, and saves the checkpoint while removing the intent. Here new intents are held back
 * and batches in progress are awaited. Once no batch is between intent and checkpoint, every row that a pipe ever
 * inserted lies before its checkpoint, and no row after the checkpoint is in a table. Both hold until the hold ends,
 * which is only after the engine has chosen the parts of the snapshot: neither gaps nor duplicates. Inserts of other
 * clients are not held. A batch that does not finish in time is recorded in the captured pipe as unsettled: such a pipe
 * cannot continue exactly, and a restore reports that.
 */
import type { JsonObject } from "../lib/json.ts";
import { kindOf } from "../sources/contract/registry.ts";
import { settled } from "../store/database/settled.ts";
import type { Ledger } from "../store/pipes/ledger.ts";
import { type PipeSnapshot, type PipeSnapshots, sourceOf } from "../store/pipes/pipe-snapshots.ts";

/**
 * Captures the positions and runs `snapshot` while they stay valid. `snapshot` calls its argument once the tables are
 * chosen; the pipes continue from then on, at the latest when it settles.
 */
export async function withPositions(
  deps: { ledger: Ledger; pipes: PipeSnapshots },
  serviceId: string,
  snapshot: (taken: () => void) => Promise<void>,
  signal: AbortSignal,
): Promise<PipeSnapshot[]> {
  const pipes = await deps.pipes.listIn(serviceId);
  const hold = await deps.ledger.hold(pipes.map((pipe) => pipe.id));
  try {
    // A pipe that is not desired to run finishes no batch, so there is no point in waiting for it.
    const running = pipes.filter((pipe) => pipe.running).map((pipe) => pipe.id);
    await settled(hold, running, signal);
    const held = new Set(pipes.map((pipe) => pipe.id));
    const captured = (await deps.pipes.capture(serviceId)).map((pipe) =>
      held.has(pipe.id) ? pipe : { ...pipe, unsettled: ["created while the backup began"] },
    );
    // A release that fails here is repeated below, and a hold that nobody releases ends by itself.
    await snapshot(() => void hold.release().catch(() => {}));
    return captured;
  } finally {
    await hold.release();
  }
}

/** Why a captured pipe must not continue from its captured position; undefined when it may. */
export function refusalOf(pipe: PipeSnapshot): string | undefined {
  const { kind, source } = sourceOf(pipe);
  if (pipe.unsettled.length > 0) {
    const resync = kindOf(kind).hasInbox ? "" : "resync, or ";
    return `A batch was being inserted when the backup was made, and may be in the table in part: ${resync}clean the table up and start.`;
  }
  return kindOf(kind).lostSinceBackup?.(source[kind] as JsonObject);
}
