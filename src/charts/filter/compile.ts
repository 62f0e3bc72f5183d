/** From the tree of a filter to one SQL condition over the columns of a table. Two-valued: NULL counts as no match. */
import { type Operand, resolveField } from "../columns/operand.ts";
import { isIndexed, type TableSchema } from "../columns/schema.ts";
import { checkBareWord, refuseSql, type Warn } from "./doubtful.ts";
import { type Condition, compilePredicate, matches, type PredicateContext } from "./predicates.ts";
import { FilterError, type FilterNode, literalText, type ValuePredicate } from "./syntax.ts";
import { holdsWords } from "./words.ts";

export type FilterContext = PredicateContext & {
  readonly schema: TableSchema;
  /** The source's implicit text: bare words are searched in these expressions, which must be text. */
  readonly implicit: () => readonly Operand[];
  /** Told of words that may not be meant as words. */
  readonly warn?: Warn;
};

/** A source may search its bare words in at most this many expressions. */
export const maxImplicitColumns = 16;
/** Different words that one phrase or bare word may be made of. */
export const maxWords = 100;

/** What a test counts in the budget of a query: a comparison of a field with a value. */
const partsPerTest = 3;
/** What is written around the text that is searched, for each word. */
const wordBytes = "hasToken(lower(), {p1000:String}) AND ".length;
/** How often the text may be searched besides, for the word or phrase as a whole. */
const searchesOfWhole = 5;

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
      if (node.kind === "and") refuseSql(node.items, context.schema);
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
      if (node.field === undefined) {
        checkBareWord(node.test, context.schema, context.warn);
        return implicitTest(node.test, context);
      }
      const { field } = node;
      const operand = resolveField(field.steps, field, context.schema, context.params);
      const condition = compilePredicate(operand, node.test, field.text, context);
      context.params.budget.spend(partsPerTest, Buffer.byteLength(condition.sql), node.test.at);
      return grouped(condition);
    }
  }
}

function implicitTest(test: ValuePredicate, context: FilterContext): Condition {
  const implicit = context.implicit();
  if (implicit.length === 0) {
    throw new FilterError(
      "a bare word needs the source's implicitColumnExpression; set it, or write field:word",
      test.at,
    );
  }
  const words = wordsOf(test);
  const items = implicit.map((operand): Condition => {
    const sql = operand.type.family === "text" ? operand.sql : `toString(${operand.sql})`;
    const searches = words + searchesOfWhole;
    context.params.budget.spend(partsPerTest * searches, (Buffer.byteLength(sql) + wordBytes) * searches, test.at);
    return { sql: searchText(sql, test, context), nullable: operand.nullable };
  });
  if (items.length === 1) return grouped(items[0] as Condition);
  return { sql: `(${items.map((item) => item.sql).join(" OR ")})`, nullable: items.some((item) => item.nullable) };
}

/** The text of a bare word or phrase; undefined for a word with wildcards. */
function plainOf(test: ValuePredicate): string | undefined {
  if (test.kind === "exact") return test.text;
  if (test.kind === "word") return literalText(test.parts);
  throw new FilterError("a comparison needs a field", test.at);
}

/** How many different words a bare word or phrase has. Throws FilterError when there are too many. */
function wordsOf(test: ValuePredicate): number {
  const { size } = new Set(plainOf(test)?.match(/[A-Za-z0-9]+/g));
  if (size > maxWords) throw new FilterError(`a phrase has at most ${maxWords} different words`, test.at);
  return size;
}

/** A bare word or phrase is found as whole words, whatever its case: `error` finds "Error: x" and not "errors". */
function searchText(sql: string, test: ValuePredicate, { params, schema }: FilterContext): string {
  const plain = plainOf(test);
  if (plain === undefined) return matches(sql, test.kind === "word" ? test.parts : [], params);
  return holdsWords({ sql, indexed: isIndexed(schema, "lower", sql) }, plain, params);
}

function grouped(condition: Condition): Condition {
  return condition.sql.startsWith("(") || !condition.sql.includes(" ")
    ? condition
    : { ...condition, sql: `(${condition.sql})` };
}
