/**
 * The positions of a service's pipes, read so that they fit the snapshot of its tables.
 *
 * A pipe saves an intent, inserts, and saves the checkpoint while removing the intent. Here its next intents are held back
 * and those in hand are waited for. Once no batch is between intent and checkpoint, every row that a pipe ever inserted
 * stands before its checkpoint, and no row that stands behind it is in a table. Both stay so until the hold ends, and
 * the hold ends only after the engine has chosen the parts of the snapshot: neither gap nor double. Inserts of other
 * clients are not held. A batch that does not come to an end in time is named in the captured pipe as unsettled: such a
 * pipe cannot be continued exactly, and restoring says so.
 */
import { sleep } from "../lib/abort.ts";
import type { Ledger } from "../store/ledger.ts";
import { type PipeSnapshot, type PipeSnapshots, sourceOf } from "../store/pipe-snapshots.ts";

/** Longest wait for batches in hand. */
const settleMs = 30_000;
const lookMs = 20;

/**
 * Captures the positions and runs `snapshot` while they stay true. `snapshot` calls its argument once the tables are chosen;
 * the pipes go on from then at the latest when it settles.
 */
export async function withPositions(
  deps: { ledger: Ledger; pipes: PipeSnapshots },
  serviceId: string,
  snapshot: (taken: () => void) => Promise<void>,
  signal: AbortSignal,
): Promise<PipeSnapshot[]> {
  const pipes = await deps.pipes.listIn(serviceId);
  using hold = deps.ledger.hold(pipes.map((pipe) => pipe.id));
  const deadline = Date.now() + settleMs;
  for (;;) {
    const unsettled = await hold.unsettled();
    // A pipe that is not asked to run finishes nothing: waiting for it is in vain.
    if (!pipes.some((pipe) => pipe.running && unsettled.has(pipe.id)) || Date.now() > deadline) break;
    await sleep(lookMs, signal);
    signal.throwIfAborted();
  }
  const held = new Set(pipes.map((pipe) => pipe.id));
  const captured = (await deps.pipes.capture(serviceId)).map((pipe) =>
    held.has(pipe.id) ? pipe : { ...pipe, unsettled: ["created while the backup began"] },
  );
  await snapshot(() => hold[Symbol.dispose]());
  return captured;
}

/** Why a captured pipe must not simply go on reading from its captured position; undefined when it may. */
export function refusalOf(pipe: PipeSnapshot): string | undefined {
  if (pipe.unsettled.length > 0) {
    return "A batch was being inserted when the backup was made, and may be in the table in part: resync, or clean the table up and start.";
  }
  const { kind, source } = sourceOf(pipe);
  if (kind === "relationalDb") {
    return "The database's replication slot has moved on since the backup: resync to load the tables again.";
  }
  if (kind === "objectStorage" && source.objectStorage?.queueUrl !== undefined) {
    return "Messages consumed after the backup are gone from the queue: resync, or load the files since then another way.";
  }
  return undefined;
}
