/** How often pages ask again. A page that is hidden or paused asks nothing. */
import { Store } from "../lib/store.ts";

/** `fast`: something is about to change; `live`: lists and states; `slow`: what changes rarely; `never`: on request. */
export type Pace = "fast" | "live" | "slow" | "never";

type Milliseconds = Readonly<Record<Exclude<Pace, "never">, number>>;
const milliseconds: Milliseconds = { fast: 1_000, live: 2_000, slow: 15_000 };
/**
 * The pace of a page that nobody touches: a wall, or a window below others. What changes its state is still asked for
 * fast.
 */
const restingMilliseconds: Milliseconds = { fast: 1_000, live: 10_000, slow: 60_000 };
const restsAfterMs = 30_000;

/** True while the page has had no key and no pointer for a while. */
export const restingStore = new Store(false);

/** Follows keys and pointer from now on. */
export function watchPresence(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const present = () => {
    clearTimeout(timer);
    timer = setTimeout(() => restingStore.set(true), restsAfterMs);
    restingStore.set(false);
  };
  for (const type of ["keydown", "pointermove", "pointerdown", "wheel", "touchstart"]) {
    window.addEventListener(type, present, { passive: true, capture: true });
  }
  present();
}

/** The user's pause. */
export const pausedStore = new Store(false);

/** The pause until the next request; false: none. */
export function intervalOf(pace: Pace): number | false {
  if (pace === "never" || pausedStore.get()) return false;
  return (restingStore.get() ? restingMilliseconds : milliseconds)[pace];
}
