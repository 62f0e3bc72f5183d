/** Where the keyboard goes on when what had the focus has gone, and on a screen that was opened. */
import { useEffect, useRef } from "react";

/** What the next Tab can go on from. Rows and cells mean nothing to a screen reader outside of their table. */
const places = "a, button, input, select, textarea, [tabindex], main, nav, aside, section, form, fieldset, ul, div";

/** An element and what is around it, the nearest first. */
export function aroundOf(element: Element | null): readonly Element[] {
  const around: Element[] = [];
  for (let one = element; one !== null && one !== document.body; one = one.parentElement) around.push(one);
  return around;
}

/** The nearest of them that is still there, ready to be focused. Text takes the focus only as long as it has it. */
export function nearestOf(around: readonly Element[]): HTMLElement | null {
  const isThere = (one: Element) => one.isConnected && one.matches(places) && one.closest("#root, [role=dialog]");
  const nearest = (around.find(isThere) ?? null) as HTMLElement | null;
  if (nearest !== null && nearest.tabIndex === -1 && !nearest.hasAttribute("tabindex")) {
    nearest.tabIndex = -1;
    nearest.addEventListener("blur", () => nearest.removeAttribute("tabindex"), { once: true });
  }
  return nearest;
}

/** The focus of a control that goes moves to what is nearest around it. Windows and menus give it back themselves. */
export function useKeptFocus(): void {
  useEffect(() => {
    let around: readonly Element[] = [];
    const remember = ({ target }: Event) => {
      around = aroundOf(target as Element);
    };
    // Whoever clicks beside everything wants the focus nowhere.
    const forget = () => {
      around = [];
    };
    const changed = new MutationObserver(() => {
      if (around[0]?.isConnected === false && document.activeElement === document.body)
        nearestOf(around)?.focus({ preventScroll: true });
    });
    document.addEventListener("focusin", remember);
    document.addEventListener("pointerdown", forget, true);
    changed.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", remember);
      document.removeEventListener("pointerdown", forget, true);
      changed.disconnect();
    };
  }, []);
}

/** Another screen is read from its beginning, unless a link within the one before or a window has led there. */
export function useFocusOfScreen(pathname: string): void {
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    if (!document.activeElement?.closest("main, [role=dialog]"))
      document.getElementById("main")?.focus({ preventScroll: true });
  }, [pathname]);
}
