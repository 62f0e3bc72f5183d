/**
 * Long work in pieces: between two of them everybody else of this process gets a turn. The clock is one for the whole
 * process, so that the pieces of many callers do not add up in one turn of the event loop.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** A turn that has lasted this long takes no further piece of work. */
const longTurnMs = 10;

/** When the first piece of the current turn began. */
let began: number | undefined;

/** Resolves at once while the turn is young, else in a later one. To be called before each piece of work. */
export async function ownTurn(): Promise<void> {
  // Others that waited may have used up the turn in which this one goes on.
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
