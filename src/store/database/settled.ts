/** Waits until pipes are between two batches. */
import { sleep } from "../../lib/abort.ts";
import type { Hold } from "../pipes/ledger.ts";

/** Longest wait for batches in progress. */
const settleMs = 30_000;
const lookMs = 20;

/**
 * Waits until none of these held pipes has a batch between its intent and its confirmation, for a limited time.
 * Resolves to the ids of all held pipes that still have one.
 */
export async function settled(
  hold: Hold,
  awaited: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const unsettled = await hold.unsettled();
    if (!awaited.some((id) => unsettled.has(id)) || performance.now() > deadline) return unsettled;
    await sleep(lookMs, signal);
    signal.throwIfAborted();
  }
}
