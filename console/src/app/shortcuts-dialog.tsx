import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/page.tsx";
import { shortcutsStore } from "./overlay-state.ts";
import { goTo } from "./shortcuts.ts";

const others = [
  ["Ctrl K or ⌘ K", "Find anything, run any action"],
  ["/", "Filter the list"],
  ["r", "Refresh"],
  ["?", "This list"],
  ["Esc", "Close"],
  ["Ctrl Enter", "Run the statements (SQL)"],
  ["Ctrl Shift Enter", "Run the selection or the statement at the cursor (SQL)"],
  ["Esc, Tab", "Leave the editor of statements"],
  ["Arrow keys", "Cells of a result, lines of a list, times of a chart, bars between areas"],
] as const;

export function ShortcutsDialog() {
  const facts = [
    ...others.map(([keys, text]) => [keys, text] as const),
    ...Object.entries(goTo).map(([key, { label }]) => [`g ${key}`, label] as const),
  ];
  return (
    <Dialog open title="Keyboard shortcuts" onClose={() => shortcutsStore.set(false)}>
      <Facts facts={facts} />
    </Dialog>
  );
}
