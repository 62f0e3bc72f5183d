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
