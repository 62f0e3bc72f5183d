/**
 * Hostile definitions, stored by a user without bounds, and two restarts of the engine for each seed. The engine starts
 * again, no row is lost, and what cannot be loaded is named. `SEED` is the first seed, `SEEDS` their number, `COUNT`
 * the definitions of each.
 */
import { numberOf, seedOf } from "../harness/bounds.ts";
import { reload } from "../harness/engine/reloaded.ts";

export const description = "100 seeds of definitions that an engine may not load: every start succeeds";

const first = seedOf();
const seeds = numberOf("SEEDS", 100);
const count = numberOf("COUNT", 12);

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${first} SEEDS=${seeds} COUNT=${count}`);
  const total = { stored: 0, unloaded: 0 };
  for (let seed = first; seed < first + seeds; seed += 1) {
    const { stored, unloaded } = await reload(seed, count);
    total.stored += stored;
    total.unloaded += unloaded;
  }
  if (total.unloaded === 0) throw new Error("every definition was loaded: the run shows nothing");
  return { seed: first, seeds, ...total };
}
