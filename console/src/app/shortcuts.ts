/** Keys that work everywhere. Not while text is typed, and not while a dialog is open. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { keepForPalette, openShortcuts, paletteStore } from "./overlay-state.ts";
import { refreshNow } from "./refresh-state.tsx";

/** After `g`. */
export const goTo = {
  o: { to: "/", label: "Overview" },
  s: { to: "/services", label: "Services" },
  p: { to: "/pipes", label: "Pipes" },
  q: { to: "/sql", label: "SQL" },
  e: { to: "/explore", label: "Explore" },
  d: { to: "/dashboards", label: "Dashboards" },
  l: { to: "/alerts", label: "Alerts" },
  b: { to: "/backups", label: "Backups" },
  a: { to: "/activity", label: "Activity" },
} as const;

/** The second key counts for so long. */
const chordMs = 1_200;

export function useShortcuts(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let chordUntil = 0;
    const keyDown = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        paletteStore.set(paletteStore.get() === undefined ? "" : undefined);
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      const key = event.key;
      const target = event.timeStamp < chordUntil ? goTo[key as keyof typeof goTo] : undefined;
      chordUntil = key === "g" ? event.timeStamp + chordMs : 0;
      if (target !== undefined) void navigate({ to: target.to });
      else if (key === "r") refreshNow();
      else if (key === "?") openShortcuts();
      else if (key === "/") focusSearch(event);
    };
    document.addEventListener("keydown", keyDown);
    document.addEventListener("keydown", keepForPalette, true);
    return () => {
      document.removeEventListener("keydown", keyDown);
      document.removeEventListener("keydown", keepForPalette, true);
    };
  }, [navigate]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function isDialogOpen(): boolean {
  return document.querySelector("[role=dialog], [role=alertdialog]") !== null;
}

function focusSearch(event: KeyboardEvent): void {
  const search = document.querySelector<HTMLInputElement>("[data-search]");
  if (search === null) return;
  event.preventDefault();
  search.focus();
  search.select();
}
