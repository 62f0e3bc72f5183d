/** The name as a statement takes it: with backquotes unless it is a plain word. */
export function quotedName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}
