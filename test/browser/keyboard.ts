/** What only a mouse can do on a page: one look with the Tab key alone, from the beginning of the page to its end. */
import type { Page } from "playwright-core";

/** More presses than any page has controls: who needs them is caught. */
const mostPresses = 600;

/**
 * Presses Tab until the focus has come back to the beginning, and tells each control that the focus did not come to,
 * each place where nothing shows the focus, and whether the focus was caught. A control of a group (`role="tab"`, a
 * radio button) is reached when another one of its group is: arrow keys go on from there. What a page that lives adds
 * on the way is not told: the focus can be behind its place already.
 */
export async function notByTab(page: Page): Promise<string[]> {
  let focus = await page.evaluate(install, looks);
  for (let presses = 0; presses < mostPresses; presses += 1) {
    // An editor takes Tab for its text, unless Esc comes before.
    if (focus === "editor") await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    focus = await page.evaluate(() => (globalThis as unknown as Walk).lookAtFocus());
    if (focus === "back") return await page.evaluate(() => (globalThis as unknown as Walk).findings());
  }
  return [`the focus is caught at ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 160))}`];
}

/** `editor`: Tab would be written into it. `back`: the focus has been there before. */
type Focus = "control" | "editor" | "back";

type Walk = {
  lookAtFocus(): Focus;
  findings(): string[];
};

const looks = {
  interactive:
    "a[href], button, input, select, textarea, summary, [contenteditable=true], [role=button], [role=link], [role=tab], " +
    "[role=checkbox], [role=switch], [role=slider], [role=separator][tabindex], [role=combobox], [role=grid]",
  groups: "[role=tablist], [role=radiogroup], [role=grid], [data-arrows]",
  marks: ["outlineStyle", "outlineColor", "outlineWidth", "boxShadow", "backgroundColor", "borderColor"] as const,
};

/** Runs in the page. */
function install({ interactive, groups, marks }: typeof looks): Focus {
  const seen = new Set<Element>();
  const lines: string[] = [];
  const textOf = (element: Element) => element.outerHTML.replaceAll(/ class="[^"]*"/g, "").slice(0, 160);
  const lookOf = (element: Element | null) =>
    [element, element?.parentElement, element?.parentElement?.parentElement]
      .filter((one) => one instanceof Element)
      .map((one) => marks.map((mark) => getComputedStyle(one)[mark]).join())
      .join();
  /** Listeners of React for a click or the pointer, which a keyboard does not reach by itself. */
  const isClicked = (element: Element) => {
    const key = Object.keys(element).find((name) => name.startsWith("__reactProps$"));
    const props = key === undefined ? {} : (element as unknown as Record<string, Record<string, unknown>>)[key];
    return ["onClick", "onDoubleClick", "onPointerDown", "onMouseDown"].some((name) => props?.[name] !== undefined);
  };
  const canBeUsed = (element: Element) =>
    element.checkVisibility({ visibilityProperty: true }) &&
    element.closest("[inert], [aria-hidden=true]") === null &&
    !element.matches(":disabled");
  const isInEditor = () => document.activeElement?.matches(".cm-content") === true;
  const atFirst = [...document.body.querySelectorAll("*")].filter(canBeUsed);
  const walk: Walk = {
    lookAtFocus: () => {
      const focused = document.activeElement;
      // Behind the last control; some pages put the focus into the middle when they open.
      if (focused === null || focused === document.body) return "control";
      if (seen.has(focused)) return isInEditor() ? "editor" : "back";
      seen.add(focused);
      const { width, height } = focused.getBoundingClientRect();
      const withFocus = lookOf(focused);
      // A text that is written shows its cursor.
      if (focused.closest(".cm-editor") === null) {
        (focused as HTMLElement).blur();
        const without = lookOf(focused);
        (focused as HTMLElement).focus();
        if (withFocus === without) lines.push(`nothing shows the focus at ${textOf(focused)}`);
      }
      if (width < 2 || height < 2) lines.push(`the focus is at something that is not seen: ${textOf(focused)}`);
      return isInEditor() ? "editor" : "control";
    },
    findings: () => {
      const grouped = new Set([...seen].map((one) => one.closest(groups)).filter((one) => one !== null));
      for (const element of atFirst) {
        if (seen.has(element) || !canBeUsed(element)) continue;
        const group = element.closest(groups);
        const isReached =
          (group !== null && grouped.has(group)) ||
          (element.matches("input[type=radio]") &&
            [...seen].some(
              (one) => one instanceof HTMLInputElement && one.name === (element as HTMLInputElement).name,
            ));
        if (isReached) continue;
        const isControl = element.matches(interactive);
        // A row that a click opens has a link in it, and a label an input.
        const isPart = [...seen].some((one) => one.contains(element) || element.contains(one));
        if (isControl || (isClicked(element) && !isPart)) lines.push(`Tab does not reach ${textOf(element)}`);
      }
      return lines;
    },
  };
  Object.assign(globalThis, walk);
  return isInEditor() ? "editor" : "control";
}
