/** Keys as the engine's path arguments. */

/**
 * The path argument with which the engine reads these keys. Characters that the engine treats as wildcards cannot be
 * escaped there; they become `*`, and the caller's filter on `_path` selects the exact key.
 */
export function enginePattern(keys: readonly string[], encode: (text: string) => string): string {
  const patterns = keys.map((key) =>
    key
      .replaceAll(/[*?{}]+/g, "*")
      .split("*")
      .map((part) => part.split("/").map(encode).join("/"))
      .join("*"),
  );
  return patterns.length === 1 ? (patterns[0] as string) : `{${patterns.join(",")}}`;
}

/** True for keys that can be part of a list `{a,b}` of the engine. */
export function isPlainKey(key: string): boolean {
  return !/[*?{},]/.test(key) && !key.includes("..");
}
