import { Store } from "../lib/store.ts";

/** Whether the command palette is open. */
export const paletteStore = new Store(false);

export function openPalette(): void {
  paletteStore.set(true);
}
