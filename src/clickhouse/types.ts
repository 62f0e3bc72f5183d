/**
 * Parses the text of a ClickHouse column type, as `system.columns` prints it, into a small tree. Wrappers that do not
 * change the meaning of a value (`Nullable`, `LowCardinality`, `SimpleAggregateFunction`) are removed.
 */

export type TypeFamily =
  | "text"
  | "integer"
  | "float"
  | "decimal"
  | "boolean"
  | "date"
  | "dateTime"
  | "uuid"
  | "ip"
  | "enum"
  | "array"
  | "map"
  | "tuple"
  | "json"
  | "dynamic"
  | "aggregate"
  | "other";

export type ColumnType = {
  readonly family: TypeFamily;
  /** Base name without arguments: `String`, `UInt64`, `DateTime64`, `Map`. */
  readonly name: string;
  readonly nullable: boolean;
  /** Element of an array; key and value of a map; members of a tuple. */
  readonly items: readonly ColumnType[];
  /** Member names of a named tuple or Nested, in the order of `items`; empty otherwise. */
  readonly names: readonly string[];
  /** Width of an integer in bits; digits after the point of a DateTime64 or Decimal; 0 otherwise. */
  readonly size: number;
  /** The type as the engine wrote it. */
  readonly text: string;
};

const families: Readonly<Record<string, TypeFamily>> = {
  String: "text",
  FixedString: "text",
  Float32: "float",
  Float64: "float",
  BFloat16: "float",
  Bool: "boolean",
  Date: "date",
  Date32: "date",
  DateTime: "dateTime",
  DateTime64: "dateTime",
  UUID: "uuid",
  IPv4: "ip",
  IPv6: "ip",
  Enum: "enum",
  Enum8: "enum",
  Enum16: "enum",
  Array: "array",
  Map: "map",
  Tuple: "tuple",
  Nested: "tuple",
  JSON: "json",
  Object: "json",
  Dynamic: "dynamic",
  Variant: "dynamic",
  AggregateFunction: "aggregate",
};

/** Every level parses its part of the text again: without a bound the time would be quadratic. */
const maxDepth = 32;

/**
 * Parses any type text and never throws: unknown types, and types nested deeper than 32 levels, become family `other`
 * with their text.
 */
export function parseType(text: string): ColumnType {
  return parseAt(text, 0);
}

function parseAt(text: string, depth: number): ColumnType {
  const trimmed = text.trim();
  if (depth > maxDepth) {
    return { family: "other", name: trimmed, nullable: false, items: [], names: [], size: 0, text: trimmed };
  }
  const below = (inner: string) => parseAt(inner, depth + 1);
  const open = trimmed.indexOf("(");
  const name = open < 0 ? trimmed : trimmed.slice(0, open);
  const args = open < 0 ? [] : splitArguments(trimmed.slice(open + 1, trimmed.lastIndexOf(")")));
  if (name === "Nullable") return { ...below(args[0] ?? ""), nullable: true, text: trimmed };
  if (name === "LowCardinality") return { ...below(args[0] ?? ""), text: trimmed };
  if (name === "SimpleAggregateFunction") return { ...below(args[1] ?? ""), text: trimmed };
  const family = familyOf(name);
  const base = { family, name, nullable: family === "dynamic", names: [], text: trimmed };
  if (family === "array" || family === "map") return { ...base, items: args.map(below), size: 0 };
  if (family === "tuple") {
    const members = args.map(splitMember);
    const named = members.every((member) => member.name !== undefined);
    return {
      ...base,
      items: members.map((member) => below(member.type)),
      names: named ? members.map((member) => member.name as string) : [],
      size: 0,
    };
  }
  return { ...base, items: [], size: sizeOf(name, args) };
}

/** True for families whose values the engine treats as numbers without a conversion. */
export function isNumeric(type: ColumnType): boolean {
  return type.family === "integer" || type.family === "float" || type.family === "decimal";
}

function familyOf(name: string): TypeFamily {
  if (/^U?Int\d+$/.test(name)) return "integer";
  if (/^Decimal\d*$/.test(name)) return "decimal";
  return families[name] ?? "other";
}

function sizeOf(name: string, args: readonly string[]): number {
  const width = /^U?Int(\d+)$/.exec(name);
  if (width) return Number(width[1]);
  if (name === "DateTime64") return Number(args[0] ?? 3);
  if (name === "Decimal") return Number(args[1] ?? 0);
  if (name.startsWith("Decimal")) return Number(args[0] ?? 0);
  return 0;
}

/** Splits at the commas outside of parentheses and quotes. */
function splitArguments(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "'" || char === "`") at = endOfQuote(text, at);
    else if (char === "(") depth += 1;
    else if (char === ")") depth -= 1;
    else if (char === "," && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === "" ? parts : [...parts, last];
}

function endOfQuote(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === quote) return at;
  }
  return text.length;
}

/** `name Type` of a named tuple, or just `Type`. */
function splitMember(text: string): { name: string | undefined; type: string } {
  if (text.startsWith("`")) {
    const end = endOfQuote(text, 0);
    const name = text.slice(1, end).replace(/\\(.)/g, "$1");
    return { name, type: text.slice(end + 1).trim() };
  }
  const named = /^([A-Za-z_][A-Za-z0-9_]*)\s+(.+)$/s.exec(text);
  return named ? { name: named[1] as string, type: named[2] as string } : { name: undefined, type: text };
}
