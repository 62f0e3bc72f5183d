/**
 * The one tooltip of the page. It shows the `data-tip` of the element below the pointer, or of the one that the
 * keyboard has reached. The text must be known to screen readers by other means.
 */
import { useEffect, useRef } from "react";
import css from "./tooltips.module.css";

const showAfterMs = 300;
/** Long enough to move the pointer from the element to the tooltip. */
const hideAfterMs = 120;
const distance = 6;

export function Tooltips() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => follow(box.current as HTMLDivElement), []);
  return <div ref={box} className={css.tip} role="tooltip" popover="manual" aria-hidden="true" />;
}

/** Listens to the whole document; returns what ends it. */
function follow(box: HTMLElement): () => void {
  const stop = new AbortController();
  let shown: Element | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hide = () => {
    clearTimeout(timer);
    shown = undefined;
    box.hidePopover();
  };
  const change = (target: Element | undefined, afterMs: number) => {
    clearTimeout(timer);
    if (target !== shown) timer = setTimeout(() => (target === undefined ? hide() : show(target)), afterMs);
  };
  const show = (target: Element) => {
    if (!target.isConnected) return;
    shown = target;
    box.textContent = target.getAttribute("data-tip");
    box.showPopover();
    place(box, target.getBoundingClientRect());
  };
  const on = <Name extends keyof DocumentEventMap>(name: Name, listener: (event: DocumentEventMap[Name]) => void) =>
    document.addEventListener(name, listener, { signal: stop.signal, capture: true, passive: true });
  on("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch" || box.contains(target as Node)) return change(shown, 0);
    const owner = ownerOf(target);
    change(owner, owner === undefined ? hideAfterMs : showAfterMs);
  });
  on("focusin", ({ target }) => {
    const owner = ownerOf(target);
    if (owner?.matches(":focus-visible")) change(owner, 0);
  });
  on("focusout", () => change(undefined, 0));
  on("pointerdown", hide);
  on("scroll", hide);
  // Esc closes the tooltip and goes on to the dialog or the page below it.
  on("keydown", ({ key }) => key === "Escape" && hide());
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

function ownerOf(target: EventTarget | null): Element | undefined {
  return (target instanceof Element && target.closest("[data-tip]")) || undefined;
}

/** Above the element, or below it where there is no room; never outside of the window. */
function place(box: HTMLElement, { top, bottom, left, width }: DOMRect): void {
  const { offsetWidth, offsetHeight } = box;
  const above = top - offsetHeight - distance;
  const most = document.documentElement.clientWidth - offsetWidth - distance;
  box.style.top = `${above >= distance ? above : bottom + distance}px`;
  box.style.left = `${Math.max(distance, Math.min(left + (width - offsetWidth) / 2, most))}px`;
}
