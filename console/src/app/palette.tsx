/** Goes to any object by name or id, and runs any action. Loaded when it is first opened. */
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { classes } from "../lib/classes.ts";
import { useStore } from "../lib/store.ts";
import { Dialog } from "../parts/dialog.tsx";
import { paletteStore } from "./overlay-state.ts";
import css from "./palette.module.css";
import { matching, type PaletteEntry, usePaletteEntries } from "./palette-entries.ts";

export function Palette() {
  const close = () => paletteStore.set(undefined);
  return (
    <Dialog open onClose={close} title="Find anything">
      <Finder onClose={close} />
    </Dialog>
  );
}

function Finder({ onClose }: { readonly onClose: () => void }) {
  const text = useStore(paletteStore) ?? "";
  const [at, setAt] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const entries = matching(usePaletteEntries(), text);
  const active = Math.min(at, entries.length - 1);
  const run = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    onClose();
    if (entry.run !== undefined) entry.run();
    else if (entry.link !== undefined) void navigate(entry.link);
  };
  const keyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((active + step + entries.length) % Math.max(1, entries.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[active]);
    }
  };
  return (
    <>
      <div className={css.search}>
        <Search aria-hidden />
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type here
          autoFocus
          data-palette
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={entries.length === 0 ? undefined : `${id}-${active}`}
          aria-label="Name, id or action"
          placeholder="Name, id or action"
          value={text}
          spellCheck={false}
          onKeyDown={keyDown}
          onChange={(event) => {
            paletteStore.set(event.target.value);
            setAt(0);
          }}
        />
      </div>
      <div className={css.list} role="listbox" id={`${id}-list`} aria-label="Results">
        {entries.map((entry, index) => (
          <Entry
            key={entry.key}
            entry={entry}
            id={`${id}-${index}`}
            active={index === active}
            onPoint={() => setAt(index)}
            onRun={() => run(entry)}
          />
        ))}
      </div>
      {entries.length === 0 && <p className={css.none}>Nothing is called that.</p>}
    </>
  );
}

type EntryProps = {
  readonly entry: PaletteEntry;
  readonly id: string;
  readonly active: boolean;
  readonly onPoint: () => void;
  readonly onRun: () => void;
};

function Entry({ entry, id, active, onPoint, onRun }: EntryProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the focus and the keys
    <div
      role="option"
      tabIndex={-1}
      id={id}
      aria-selected={active}
      ref={(element) => {
        if (active) element?.scrollIntoView({ block: "nearest" });
      }}
      className={classes(css.entry, active && css.active)}
      onMouseMove={onPoint}
      onClick={onRun}
    >
      <span className={css.label}>{entry.label}</span>
      <span className={`muted ${css.kind}`}>{entry.kind}</span>
    </div>
  );
}
