import { Store } from "../lib/store.ts";

/** What is typed into the command palette; undefined while it is closed. */
export const paletteStore = new Store<string | undefined>(undefined);

export function openPalette(): void {
  paletteStore.set(paletteStore.get() ?? "");
}

/**
 * Keys that are typed while the palette is open and its field has not got the focus yet, because its code is loaded:
 * they belong to the palette, and not to what had the focus before.
 */
export function keepForPalette(event: KeyboardEvent): void {
  const text = paletteStore.get();
  // Both at once are AltGr, which writes a character.
  const isCommand = event.metaKey || event.ctrlKey !== event.altKey;
  if (text === undefined || isCommand || event.key === "Tab") return;
  // Its own, or those of the message that its code could not be loaded.
  const own = "[role=dialog]:has([data-palette]), [role=alert]";
  if (event.target instanceof Element && event.target.closest(own)) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Escape") paletteStore.set(undefined);
  else if (event.key === "Backspace") paletteStore.set(text.slice(0, -1));
  else if (event.key.length === 1) paletteStore.set(text + event.key);
}

/** Whether the list of shortcuts is open. */
export const shortcutsStore = new Store(false);

export function openShortcuts(): void {
  shortcutsStore.set(true);
}
