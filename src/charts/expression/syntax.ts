/** The tree of a parsed SQL expression. It can only say what the emitter can write: there is no node for raw text. */
import type { FieldStep } from "../filter/syntax.ts";

export type BinaryOperator =
  | "OR"
  | "AND"
  | "="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "<=>"
  | "LIKE"
  | "NOT LIKE"
  | "ILIKE"
  | "NOT ILIKE"
  | "||"
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "DIV";

export type IntervalUnit = "Second" | "Minute" | "Hour" | "Day" | "Week" | "Month" | "Quarter" | "Year";

export type Expression =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "constant"; readonly name: "NULL" | "true" | "false" }
  | { readonly kind: "array" | "tuple"; readonly items: readonly Expression[] }
  | { readonly kind: "column"; readonly steps: readonly FieldStep[]; readonly text: string; readonly at: number }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: "cast"; readonly item: Expression; readonly type: string }
  | { readonly kind: "element"; readonly item: Expression; readonly index: Expression }
  | { readonly kind: "negate" | "not" | "isNull" | "isNotNull"; readonly item: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "in" | "notIn"; readonly item: Expression; readonly values: readonly Expression[] }
  | {
      readonly kind: "between" | "notBetween";
      readonly item: Expression;
      readonly low: Expression;
      readonly high: Expression;
    }
  | { readonly kind: "interval"; readonly item: Expression; readonly unit: IntervalUnit }
  | { readonly kind: "lambda"; readonly variables: readonly string[]; readonly body: Expression };

/** Where a part begins in the text it was read from. Kept beside the tree: only errors ask for it. */
const starts = new WeakMap<Expression, number>();

/** Remembers where a part begins, unless that is known. */
export function beginsAt(node: Expression, position: number): Expression {
  if (!starts.has(node)) starts.set(node, position);
  return node;
}

/** Where a part begins, if that was remembered. */
export function knownStart(node: Expression): number | undefined {
  return starts.get(node);
}

/** Where a part begins: for an operator, at its left side. */
export function startOffsetOf(node: Expression): number {
  const known = starts.get(node);
  if (known !== undefined) return known;
  const [first] = childrenOf(node);
  return first === undefined ? 0 : startOffsetOf(first);
}

/** The parts that a part is made of, in the order in which they are written. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case "array":
    case "tuple":
      return node.items;
    case "call":
      return node.args;
    case "element":
      return [node.item, node.index];
    case "binary":
      return [node.left, node.right];
    case "in":
    case "notIn":
      return [node.item, ...node.values];
    case "between":
    case "notBetween":
      return [node.item, node.low, node.high];
    case "lambda":
      return [node.body];
    default:
      return "item" in node ? [node.item] : [];
  }
}
