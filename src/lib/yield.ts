/**
 * Long work in slices: between two slices the event loop serves the rest of the process. The clock is shared by the
 * whole process, so that slices of many callers do not add up in one turn of the event loop.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** A turn that has lasted this long starts no further slice. */
const longTurnMs = 10;

/** Start of the first slice of the current turn. */
let began: number | undefined;

/** Resolves immediately while the turn is young, otherwise in a later one. Call it before each slice. */
export async function yieldWhenLong(): Promise<void> {
  // Other waiting callers may have used up the turn in which this one continues.
  while (usedMs() > longTurnMs) await nextTurn();
}

function usedMs(): number {
  const now = performance.now();
  if (began === undefined) {
    began = now;
    setImmediate(() => {
      began = undefined;
    });
  }
  return now - began;
}
