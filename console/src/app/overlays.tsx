/** What opens above any screen. The palette is loaded when it is first opened. */
import { lazy, Suspense } from "react";
import { useStore } from "../lib/store.ts";
import { paletteStore } from "./palette-state.ts";
import { useShortcuts } from "./shortcuts.ts";
import { shortcutsStore } from "./shortcuts-state.ts";

const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));
const ShortcutsDialog = lazy(async () => ({ default: (await import("./shortcuts-dialog.tsx")).ShortcutsDialog }));

export function Overlays() {
  useShortcuts();
  const palette = useStore(paletteStore);
  const shortcuts = useStore(shortcutsStore);
  return (
    <Suspense>
      {palette && <Palette />}
      {shortcuts && <ShortcutsDialog />}
    </Suspense>
  );
}
