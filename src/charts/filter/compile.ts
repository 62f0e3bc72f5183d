/** From the tree of a filter to one SQL condition over the columns of a table. Two-valued: NULL counts as no match. */
import { type Operand, resolveField } from "../operand.ts";
import type { TableSchema } from "../schema.ts";
import { FilterError, type FilterNode, plainText, type ValueTest } from "./syntax.ts";
import { type Condition, compileTest, contains, matches, type TestContext } from "./tests.ts";

export type FilterContext = TestContext & {
  readonly schema: TableSchema;
  /** The source's implicit text: bare words are searched in these expressions, which must be text. */
  readonly implicit: readonly Operand[];
};

/** The condition of a filter, or undefined for one that matches every row. Throws FilterError. */
export function compileFilter(node: FilterNode, context: FilterContext): Condition | undefined {
  return node.kind === "all" ? undefined : grouped(compile(node, context));
}

function compile(node: FilterNode, context: FilterContext): Condition {
  switch (node.kind) {
    case "all":
      return { sql: "true", nullable: false };
    case "and":
    case "or": {
      const items = node.items.map((item) => compile(item, context));
      return {
        sql: `(${items.map((item) => item.sql).join(node.kind === "and" ? " AND " : " OR ")})`,
        nullable: items.some((item) => item.nullable),
      };
    }
    case "not": {
      const item = compile(node.item, context);
      return { sql: item.nullable ? `NOT ifNull(${item.sql}, false)` : `NOT (${item.sql})`, nullable: false };
    }
    case "match": {
      if (node.field === undefined) return implicitTest(node.test, context);
      const { field } = node;
      const operand = resolveField(field.steps, field, context.schema, context.params);
      return grouped(compileTest(operand, node.test, field.text, context));
    }
  }
}

function implicitTest(test: ValueTest, context: FilterContext): Condition {
  if (context.implicit.length === 0) {
    throw new FilterError(
      "a bare word needs the source's implicitColumnExpression; set it, or write field:word",
      test.at,
    );
  }
  const items = context.implicit.map((operand): Condition => {
    const sql = operand.type.family === "text" ? operand.sql : `toString(${operand.sql})`;
    return { sql: searchText(sql, test, context), nullable: operand.nullable };
  });
  if (items.length === 1) return grouped(items[0] as Condition);
  return { sql: `(${items.map((item) => item.sql).join(" OR ")})`, nullable: items.some((item) => item.nullable) };
}

/**
 * A bare word or phrase is found as whole words, whatever its case: `error` finds "Error: x" and not "errors". Its
 * letter-and-digit runs must be words of the text, and the text must contain it as typed.
 */
function searchText(sql: string, test: ValueTest, { params }: FilterContext): string {
  if (test.kind !== "word" && test.kind !== "exact") throw new FilterError("a comparison needs a field", test.at);
  if (test.kind === "word" && plainText(test.pieces) === undefined) return matches(sql, test.pieces, params);
  const plain = test.kind === "exact" ? test.text : (plainText(test.pieces) as string);
  const hasWord = (word: string) => `hasToken(lower(${sql}), ${params.bind(word.toLowerCase(), "String")})`;
  // The engine's words are runs of ASCII letters and digits and of anything beyond ASCII, whose case it does not fold.
  const words = (plain.match(/[A-Za-z0-9\u0080-\uffff]+/g) ?? []).filter((word) => /^[A-Za-z0-9]+$/.test(word));
  const parts = [...new Set(words)].map(hasWord);
  if (parts.length !== 1 || words[0] !== plain) parts.push(contains(sql, plain, params));
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(" AND ")})`;
}

function grouped(condition: Condition): Condition {
  return condition.sql.startsWith("(") || !condition.sql.includes(" ")
    ? condition
    : { ...condition, sql: `(${condition.sql})` };
}
