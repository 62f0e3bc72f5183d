import { Store } from "../lib/store.ts";

/** Whether the list of shortcuts is open. */
export const shortcutsStore = new Store(false);

export function openShortcuts(): void {
  shortcutsStore.set(true);
}
