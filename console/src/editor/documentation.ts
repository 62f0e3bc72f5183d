/** The engine's documentation of a word as elements. It is text: nothing in it is markup of the page. */

const shownCharacters = 700;

/** A form of use above its explanation. */
export function documentation(head: string, description: string): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-documentation";
  const code = box.appendChild(document.createElement("code"));
  code.textContent = head;
  const text = plainDescription(description, shownCharacters);
  if (text !== "") box.appendChild(document.createElement("p")).textContent = text;
  return box;
}

/** Without the marks of links and code. */
export function plainDescription(text: string, length: number): string {
  const plain = text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return plain.length > length ? `${plain.slice(0, length).trimEnd()}…` : plain;
}
