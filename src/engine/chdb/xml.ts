/** The little XML that the engine's configuration files need. */

/** An element with its content, which is XML already. */
export function element(name: string, content: readonly string[]): string {
  return `<${name}>${content.join("")}</${name}>\n`;
}

/** Text as XML. */
export function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
