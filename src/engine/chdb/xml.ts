/** The XML that the engine's configuration files need. */

/** An element; `content` is XML already. */
export function element(name: string, content: readonly string[]): string {
  return `<${name}>${content.join("")}</${name}>\n`;
}

/** Escapes text as XML. */
export function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
