/** Keys as the engine's path arguments. */

/**
 * The path argument with which the engine reads these keys. Wildcards of the engine, and ends of lines, cannot be
 * escaped there; they become `*`, and the caller's filter on `_path` selects the exact key.
 *
 * With `listed`, a prefix of all keys (see `listedPrefix`), the engine lists what begins with it, and learns the
 * versions of all objects from that. It asks for each of a list `{a,b}`, unless a wildcard follows: that stands for the
 * last character of the keys, so that next to nothing else matches.
 */
export function enginePattern(keys: readonly string[], encode: (text: string) => string, listed?: string): string {
  const encoded = (text: string) => text.split("/").map(encode).join("/");
  if (listed !== undefined) {
    return `${encoded(listed)}{${keys.map((key) => encoded(key.slice(listed.length, -1))).join(",")}}*`;
  }
  const patterns = keys.map((key) =>
    key
      .replaceAll(/[*?{}\n]+/g, "*")
      .split("*")
      .map(encoded)
      .join("*"),
  );
  return patterns.length === 1 ? (patterns[0] as string) : `{${patterns.join(",")}}`;
}

/** The engine makes a regular expression of a pattern, which has no automaton from about 20,000 characters on. */
export const maxPatternChars = 10_000;

/** The longest prefix of plain keys with which `enginePattern` can list them; undefined when there is none. */
export function listedPrefix(keys: readonly string[]): string | undefined {
  const [first = ""] = keys;
  let length = first.length;
  for (const key of keys) while (!key.startsWith(first.slice(0, length))) length -= 1;
  // Half of a surrogate pair cannot be encoded.
  const prefix = first.slice(0, length).replace(/[\ud800-\udbff]$/, "");
  const end = first.at(-1) as string;
  const isListable = keys.every((key) => key.endsWith(end) && key.length >= prefix.length + 2);
  const chars = keys.reduce((sum, key) => sum + key.length - prefix.length, 0);
  return isListable && /[!-~]/.test(end) && chars <= maxPatternChars ? prefix : undefined;
}

/** True for keys that can be part of a list `{a,b}` of the engine. */
export function isPlainKey(key: string): boolean {
  return !/[*?{},\n]/.test(key) && !key.includes("..");
}
