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
  const prefix = full.slice(0, wildcard);
  const rest = full.slice(wildcard);
  const matches = hasOneWay(rest) ? oneWay(rest) : allWays(rest);
  return {
    prefix,
    exact: false,
    matches: (key) => !key.endsWith("/") && key.startsWith(prefix) && matches(key.slice(prefix.length)),
  };
}

type Matcher = (text: string) => boolean;

/**
 * Whether a regular expression has little to try: each wildcard is the only one of its folder, and at most one crosses
 * folders. Users choose pattern and keys: with five wildcards between letters and a long key it would take hours,
 * during which the process does nothing else.
 */
function hasOneWay(pattern: string): boolean {
  const isAlone = (folder: string) => (folder.match(/\*\*|\*/g) ?? []).length <= 1;
  return pattern.split("/").every(isAlone) && pattern.split("**").length <= 2;
}

function oneWay(pattern: string): Matcher {
  const expression = pattern.replaceAll(/\*\*|\*|\?|[\\^$.|+()[\]{}]/g, (part) => {
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : `\\${part}`;
  });
  const regex = new RegExp(`^${expression}$`, "su");
  return (text) => regex.test(text);
}

/** Follows all ways through the pattern at once, which takes as long as the text and the pattern together allow. */
function allWays(pattern: string): Matcher {
  const steps = pattern.match(/\*\*|./gsu) ?? [];
  const reached = new Float64Array(steps.length + 1);
  let turn = 0;
  const reach = (at: number, states: number[]) => {
    for (let state = at; reached[state] !== turn; state += 1) {
      reached[state] = turn;
      states.push(state);
      if (steps[state] !== "*" && steps[state] !== "**") return;
    }
  };
  let states: number[] = [];
  let next: number[] = [];
  return (text) => {
    turn += 1;
    states.length = 0;
    reach(0, states);
    for (const char of text) {
      turn += 1;
      next.length = 0;
      for (const state of states) {
        const step = steps[state];
        if (step === "**" || (step === "*" && char !== "/")) reach(state, next);
        else if (step === "?" ? char !== "/" : step === char && step !== "*") reach(state + 1, next);
      }
      [states, next] = [next, states];
      if (states.length === 0) return false;
    }
    return states.includes(steps.length);
  };
}

/** Order of keys in a listing: by UTF-8 bytes. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
