/** Whether the server answers. While it does not, one probe asks with growing pauses; nothing else does. */
import { Store } from "../lib/store.ts";

export type Connection =
  | { readonly reached: true }
  /** `retryAt`: when the next probe is sent, in milliseconds of this clock. */
  | { readonly reached: false; readonly since: number; readonly retryAt: number };

export const connectionStore = new Store<Connection>({ reached: true });

const pausesMs = [1_000, 2_000, 4_000, 5_000];
let attempts = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** After any response. */
export function noteReached(): void {
  if (connectionStore.get().reached) return;
  clearTimeout(timer);
  timer = undefined;
  attempts = 0;
  connectionStore.set({ reached: true });
}

/** After a request without a response. */
export function noteUnreachable(): void {
  if (timer !== undefined) return;
  const known = connectionStore.get();
  const pause = pausesMs[Math.min(attempts, pausesMs.length - 1)] as number;
  attempts += 1;
  const since = known.reached ? Date.now() : known.since;
  connectionStore.set({ reached: false, since, retryAt: Date.now() + pause });
  timer = setTimeout(probe, pause);
}

/** Asks now instead of later. False: it does not answer. */
export async function probeNow(): Promise<boolean> {
  clearTimeout(timer);
  await probe();
  return connectionStore.get().reached;
}

async function probe(): Promise<void> {
  timer = undefined;
  await fetch("/health", { headers: { "x-millrace-console": "1" } }).then(noteReached, noteUnreachable);
}
