/** Selects keys by a URL's pattern: `?` and `*` match within one folder, `**` crosses folders. Case-sensitive. */

export type KeyPattern = {
  /** The part before the first wildcard, to which a listing can be limited. */
  readonly prefix: string;
  /** True when the pattern names exactly one key. */
  readonly exact: boolean;
  matches(key: string): boolean;
};

/** An empty pattern and one that ends in `/` select everything below. */
export function keyPattern(pattern: string): KeyPattern {
  const full = pattern === "" || pattern.endsWith("/") ? `${pattern}**` : pattern;
  const wildcard = full.search(/[*?]/);
  if (wildcard < 0) return { prefix: full, exact: true, matches: (key) => key === full };
  const expression = full.replaceAll(/\*\*|\*|\?|[\\^$.|+()[\]{}]/g, (part) => {
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : `\\${part}`;
  });
  const regex = new RegExp(`^${expression}$`, "su");
  return { prefix: full.slice(0, wildcard), exact: false, matches: (key) => !key.endsWith("/") && regex.test(key) };
}

/** Order of keys in a listing: by UTF-8 bytes. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
