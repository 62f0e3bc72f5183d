/** What a screen reader calls the controls of a form. */
import type { Locator } from "playwright-core";

/** Controls within it that are called alike, each with its role. */
export async function namedAlike(within: Locator): Promise<string[]> {
  const found = (await within.ariaSnapshot()).matchAll(
    /- ((?:textbox|searchbox|combobox|checkbox|button)\b.*?)(?: \[|:|$)/gm,
  );
  const names = [...found].map(([, name = ""]) => name);
  return names.filter((name, at) => names.indexOf(name) !== at);
}
