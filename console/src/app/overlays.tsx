/** What opens above any screen. The palette is loaded when it is first opened. */
import { useStore } from "../lib/store.ts";
import { late } from "../parts/late.tsx";
import { paletteStore, shortcutsStore } from "./overlay-state.ts";
import { useShortcuts } from "./shortcuts.ts";

const Palette = late(async () => (await import("./palette.tsx")).Palette);
const ShortcutsDialog = late(async () => (await import("./shortcuts-dialog.tsx")).ShortcutsDialog);

export function Overlays() {
  useShortcuts();
  const palette = useStore(paletteStore);
  const shortcuts = useStore(shortcutsStore);
  return (
    <>
      {palette !== undefined && <Palette />}
      {shortcuts && <ShortcutsDialog />}
    </>
  );
}
