/** The tree of a parsed filter. Offsets count UTF-16 units from the start of the filter text. */

/** Text with the wildcards of an unquoted word: `any` stands for `*`, `one` for `?`. */
export type PatternPart = { readonly kind: "text"; readonly text: string } | { readonly kind: "any" | "one" };

export type FieldStep =
  /** `a.b.c` as written, escapes resolved; where the column ends and a path begins is decided by the schema. */
  | { readonly kind: "dotted"; readonly text: string }
  | { readonly kind: "key"; readonly text: string }
  /** One-based position in an array. */
  | { readonly kind: "index"; readonly index: number };

export type FilterField = { readonly steps: readonly FieldStep[]; readonly text: string; readonly at: number };

export type Term = { readonly text: string; readonly quoted: boolean; readonly at: number };

export type CompareOperator = ">" | ">=" | "<" | "<=";

export type ValuePredicate =
  | { readonly kind: "word"; readonly parts: readonly PatternPart[]; readonly at: number }
  | { readonly kind: "exact"; readonly text: string; readonly at: number }
  | { readonly kind: "compare"; readonly operator: CompareOperator; readonly value: Term; readonly at: number }
  | {
      readonly kind: "range";
      /** An absent bound is open (`*`). */
      readonly low: Term | undefined;
      readonly high: Term | undefined;
      readonly includesLow: boolean;
      readonly includesHigh: boolean;
      readonly at: number;
    }
  | { readonly kind: "exists"; readonly at: number };

export type FilterNode =
  | { readonly kind: "all" }
  | { readonly kind: "and" | "or"; readonly items: readonly FilterNode[] }
  | { readonly kind: "not"; readonly item: FilterNode }
  /** Without a field the test is of the source's implicit text. */
  | { readonly kind: "match"; readonly field: FilterField | undefined; readonly test: ValuePredicate };

/** A mistake of the caller in a filter or an expression, with its place in the text. */
export class FilterError extends Error {
  readonly position: number;
  readonly code: "FILTER_INVALID" | "UNKNOWN_COLUMN";

  constructor(message: string, position: number, code: "FILTER_INVALID" | "UNKNOWN_COLUMN" = "FILTER_INVALID") {
    super(message);
    this.name = "FilterError";
    this.position = position;
    this.code = code;
  }
}

/** The text of a word without wildcards, or undefined when it has any. */
export function literalText(parts: readonly PatternPart[]): string | undefined {
  let text = "";
  for (const part of parts) {
    if (part.kind !== "text") return undefined;
    text += part.text;
  }
  return text;
}
