/** Values for the parameters of a statement that is read and not run: the engine prints no tree without them. */
import type { SqlToken } from "../text/tokens.ts";

/** One value of its type for each parameter. What stands for a name is a plain word. */
export function placeholders(tokens: readonly SqlToken[]): Record<string, string> {
  const found = tokens.filter(({ kind }) => kind === "parameter");
  return Object.fromEntries(found.map(({ value, type }) => [value, placeholderOf(type)]));
}

const byType: readonly (readonly [RegExp, string])[] = [
  [/^Identifier$/, "x"],
  [/^(?:U?Int|Float|BFloat|Decimal|Bool|Interval|INT|BIGINT|DOUBLE|FLOAT)/i, "0"],
  [/^Date(?:32)?$/i, "2000-01-01"],
  [/^DateTime/i, "2000-01-01 00:00:00"],
  [/^Time/i, "00:00:00"],
  [/^UUID$/, "00000000-0000-0000-0000-000000000000"],
  [/^IPv4$/, "0.0.0.0"],
  [/^IPv6$/, "::"],
  [/^(?:Array|Nested|Ring|LineString|Polygon|MultiPolygon)/, "[]"],
  [/^Map/, "{}"],
  [/^JSON/, "{}"],
  [/^Point$/, "(0,0)"],
];

function placeholderOf(type: string): string {
  if (/^Nullable\(/.test(type)) return "\\N";
  const inner = /^(?:LowCardinality|Nullable)\((.*)\)$/.exec(type)?.[1];
  if (inner !== undefined) return placeholderOf(inner);
  const tuple = /^Tuple\((.*)\)$/.exec(type)?.[1];
  if (tuple !== undefined) return `(${topLevel(tuple).map(placeholderInQuotes).join(",")})`;
  const member = /^Enum(?:8|16)?\('((?:[^'\\]|\\.)*)'/.exec(type)?.[1];
  return member ?? byType.find(([pattern]) => pattern.test(type))?.[1] ?? "";
}

/** A member of a tuple, `name Type` or `Type`. */
function placeholderInQuotes(member: string): string {
  const type = member.trim().replace(/^[A-Za-z_][A-Za-z0-9_]* (?=[A-Z])/, "");
  const value = placeholderOf(type);
  return /^[0-9]+$|^[[{(]/.test(value) ? value : value === "\\N" ? "NULL" : `'${value}'`;
}

/** The parts between commas outside of parentheses. */
function topLevel(list: string): string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (const char of list) {
    if (char === "(") depth += 1;
    if (char === ")") depth -= 1;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}
