/** Type names in casts: read from tokens and written again, so that only the names below can reach the engine. */
import { isPunctuation, type Token } from "../../clickhouse/lexer.ts";

const plain = new Set(
  (
    "String UUID Bool Date Date32 DateTime IPv4 IPv6 Float32 Float64 " +
    "Int8 Int16 Int32 Int64 Int128 Int256 UInt8 UInt16 UInt32 UInt64 UInt128 UInt256"
  ).split(" "),
);

/** Types with arguments: whether each argument is a type, a number or a time zone. */
const parametric: Readonly<Record<string, readonly ("type" | "number" | "zone")[]>> = {
  Nullable: ["type"],
  LowCardinality: ["type"],
  Array: ["type"],
  Map: ["type", "type"],
  FixedString: ["number"],
  DateTime: ["zone"],
  DateTime64: ["number", "zone"],
  Decimal: ["number", "number"],
  Decimal32: ["number"],
  Decimal64: ["number"],
  Decimal128: ["number"],
};

/** Reads a type that begins at token `from`; undefined when there is none that may be cast to. */
export function readType(
  tokens: readonly Token[],
  from: number,
  depth = 0,
): { readonly text: string; readonly end: number } | undefined {
  const name = tokens[from];
  if (name?.kind !== "word" || depth > 10) return undefined;
  if (!isPunctuation(tokens[from + 1], "(")) {
    return plain.has(name.text) ? { text: name.text, end: from + 1 } : undefined;
  }
  const kinds = parametric[name.text];
  if (kinds === undefined || !Object.hasOwn(parametric, name.text)) return undefined;
  const args: string[] = [];
  let at = from + 2;
  for (const kind of kinds) {
    const token = tokens[at];
    if (kind === "type") {
      const inner = readType(tokens, at, depth + 1);
      if (inner === undefined) return undefined;
      args.push(inner.text);
      at = inner.end;
    } else {
      const pattern = kind === "number" ? /^\d{1,3}$/ : /^'[A-Za-z0-9_+/-]{1,64}'$/;
      if (token === undefined || !pattern.test(token.text)) return undefined;
      args.push(token.text);
      at += 1;
    }
    if (isPunctuation(tokens[at], ")")) return { text: `${name.text}(${args.join(", ")})`, end: at + 1 };
    if (!isPunctuation(tokens[at], ",")) return undefined;
    at += 1;
  }
  return undefined;
}
