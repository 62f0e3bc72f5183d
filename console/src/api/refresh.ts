/** How often pages ask again. A page that is hidden or paused asks nothing. */
import { Store } from "../lib/store.ts";

/** `fast`: something is about to change; `live`: lists and states; `slow`: what changes rarely; `never`: on request. */
export type Pace = "fast" | "live" | "slow" | "never";

const milliseconds: Readonly<Record<Exclude<Pace, "never">, number>> = { fast: 1_000, live: 2_000, slow: 15_000 };

/** The user's pause. */
export const pausedStore = new Store(false);

/** The pause until the next request; false: none. */
export function intervalOf(pace: Pace): number | false {
  return pace === "never" || pausedStore.get() ? false : milliseconds[pace];
}
