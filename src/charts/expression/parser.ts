/**
 * A recursive-descent parser for one SQL expression in the engine's dialect, over the columns of one table. What it
 * cannot build into its tree is refused with a position: subqueries, other tables, settings, aggregates, comments that
 * hide text, a second statement, functions that are not on the allow-list.
 */
import { aggregates } from "../../api/charts.ts";
import { isPunctuation, isWord, type Token } from "../../clickhouse/lexer.ts";
import { nearMatches } from "../../lib/near-matches.ts";
import { type FieldStep, FilterError } from "../filter/syntax.ts";
import { Forms } from "./forms.ts";
import { allowedFunction, allowedFunctions } from "./functions.ts";
import { type BinaryOperator, beginsAt, type Expression } from "./syntax.ts";

const reserved = new Set(
  "SELECT FROM WHERE GROUP ORDER BY HAVING LIMIT UNION WITH SETTINGS FORMAT INTO JOIN USING AS AND OR NOT IN LIKE ILIKE BETWEEN IS WHEN THEN ELSE END PREWHERE OVER DIV MOD".split(
    " ",
  ),
);

/** An expression longer than this is refused, in UTF-16 units. */
export const maxExpressionLength = 32_768;
/** Parses one expression. Throws FilterError with the offset of the mistake. */
export function parseExpression(text: string): Expression {
  const [first, ...others] = parseExpressions(text);
  if (first === undefined || others.length > 0) throw new FilterError("expected one expression", 0);
  return first;
}

/** Undefined for what is not an expression. */
export function parsedExpression(text: string): Expression | undefined {
  try {
    return parseExpression(text);
  } catch (error) {
    if (error instanceof FilterError) return undefined;
    throw error;
  }
}

/** Parses a comma list of at least one expression. Throws FilterError. */
export function parseExpressions(text: string): Expression[] {
  if (text.length > maxExpressionLength) {
    throw new FilterError(`the expression is longer than ${maxExpressionLength} characters`, maxExpressionLength);
  }
  return new Parser(text).list();
}

class Parser extends Forms {
  #variables: string[] = [];
  /** The nesting depth at which the arguments of the innermost function stand. */
  #callDepth = 0;
  /** The last BETWEEN: another one may not follow it. */
  #between: Expression | undefined;

  list(): Expression[] {
    const items = [this.expression()];
    while (this.take(",")) items.push(this.expression());
    if (this.peek() !== undefined) this.fail("expected an operator or the end");
    return items;
  }

  protected override expression(): Expression {
    this.enter();
    const condition = this.#or();
    let result = condition;
    if (this.take("?")) {
      const yes = this.expression();
      this.expect(":");
      result = this.node({ kind: "call", name: "if", args: [condition, yes, this.expression()] });
    }
    this.leave();
    return result;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.takeWord("OR")) left = this.binary("OR", left, this.#and());
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.takeWord("AND")) left = this.binary("AND", left, this.#not());
    return left;
  }

  #not(): Expression {
    let count = 0;
    while (isWord(this.peek(), "NOT")) {
      this.at += 1;
      count += 1;
    }
    const item = this.#comparison();
    if (count === 0) return item;
    const negated: Expression = this.node({ kind: "not", item });
    return count % 2 === 1 ? negated : { kind: "not", item: negated };
  }

  #comparison(): Expression {
    let left = this.#concat();
    for (;;) {
      const token = this.peek();
      const symbol = token?.kind === "punctuation" ? comparisons[token.text] : undefined;
      if (symbol !== undefined) {
        this.at += 1;
        left = this.binary(symbol, left, this.#concat());
      } else if (this.takeWord("IS")) {
        const negated = this.takeWord("NOT");
        if (!this.takeWord("NULL")) this.fail("expected NULL after IS");
        left = this.node({ kind: negated ? "isNotNull" : "isNull", item: left });
      } else {
        const next = this.#predicate(left);
        if (next === undefined) return left;
        left = next;
      }
    }
  }

  /** `[NOT] LIKE | ILIKE | IN | BETWEEN` after a left side, or undefined when none of them follows. */
  #predicate(left: Expression): Expression | undefined {
    const negated = isWord(this.peek(), "NOT");
    const word = this.peek(negated ? 1 : 0);
    const name = ["LIKE", "ILIKE", "IN", "BETWEEN"].find((candidate) => isWord(word, candidate));
    if (name === undefined) return undefined;
    this.at += negated ? 2 : 1;
    if (name === "IN") return this.node({ kind: negated ? "notIn" : "in", item: left, values: this.#constants() });
    if (name === "BETWEEN") {
      if (left === this.#between) this.fail("put parentheses around the first BETWEEN", word?.start);
      const low = this.#concat();
      if (!this.takeWord("AND")) this.fail("expected AND between the bounds");
      this.#between = this.node({ kind: negated ? "notBetween" : "between", item: left, low, high: this.#concat() });
      return this.#between;
    }
    return this.binary(`${negated ? "NOT " : ""}${name}` as BinaryOperator, left, this.#concat());
  }

  /** The list after IN. Constants only: for the engine a name here would be another table. */
  #constants(): Expression[] {
    const open = this.peek();
    const close = isPunctuation(open, "[") ? "]" : ")";
    if (!isPunctuation(open, "(") && !isPunctuation(open, "[")) this.fail("expected a list of values after IN");
    this.at += 1;
    const items: Expression[] = [];
    do {
      const at = this.peek()?.start;
      const item = this.expression();
      if (!isConstant(item)) this.fail("only values may stand in the list after IN", at);
      items.push(item);
    } while (this.take(","));
    this.expect(close);
    return items;
  }

  #concat(): Expression {
    let left = this.#sum();
    while (this.take("||")) left = this.binary("||", left, this.#sum());
    return left;
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      if (this.take("+")) left = this.binary("+", left, this.#product());
      else if (this.take("-")) left = this.binary("-", left, this.#product());
      else return left;
    }
  }

  #product(): Expression {
    let left = this.unary();
    for (;;) {
      if (this.take("*")) left = this.binary("*", left, this.unary());
      else if (this.take("/")) left = this.binary("/", left, this.unary());
      else if (this.take("%") || this.takeWord("MOD")) left = this.binary("%", left, this.unary());
      else if (this.takeWord("DIV")) left = this.binary("DIV", left, this.unary());
      else return left;
    }
  }

  protected override unary(): Expression {
    let negative = false;
    let signs = 0;
    for (;;) {
      if (this.take("-")) negative = !negative;
      else if (!this.take("+")) break;
      signs += 1;
    }
    const start = this.peek()?.start ?? this.text.length;
    const item = this.#postfix(beginsAt(this.#primary(), start));
    return signs > 0 && negative ? this.node({ kind: "negate", item }) : item;
  }

  #postfix(start: Expression): Expression {
    let item = start;
    for (;;) {
      const token = this.peek();
      if (this.take("::")) item = this.node({ kind: "cast", item, type: this.type() });
      else if (this.take("[")) {
        const index = this.expression();
        this.expect("]");
        if (item.kind === "column" && index.kind === "string") {
          item = { ...item, steps: [...item.steps, { kind: "key", text: index.value }] };
        } else item = this.node({ kind: "element", item, index });
      } else if (token?.kind === "number" && /^\.\d{1,4}$/.test(token.text) && token.start === this.previousEnd()) {
        this.at += 1;
        const position: Expression = { kind: "number", text: token.text.slice(1) };
        item = this.node({ kind: "call", name: "tupleElement", args: [item, position] });
      } else if (item.kind === "column" && isPunctuation(token, ".")) {
        item = { ...item, steps: [...item.steps, ...this.#members()] };
      } else return item;
    }
  }

  #primary(): Expression {
    const token = this.peek();
    if (token === undefined) this.fail("expected an expression, but the text ends");
    this.at += 1;
    switch (token.kind) {
      case "number":
        return this.#number(token);
      case "string":
        return this.node({ kind: "string", value: token.value });
      case "quotedIdentifier":
        return this.#column(token);
      case "word":
        return this.#word(token);
      case "punctuation":
        if (token.text === "(") return this.#parenthesised(token);
        if (token.text === "[") return this.node({ kind: "array", items: this.arguments("]") });
        break;
      case "parameter":
        this.fail("parameters cannot be used here", token.start);
        break;
      case "unterminated":
        this.fail("the quote or comment opened here is not closed", token.start);
    }
    return this.fail(`unexpected ${JSON.stringify(token.text.slice(0, 40))}`, token.start);
  }

  #number(token: Token): Expression {
    const text = token.text.replaceAll("_", "");
    if (!/^(\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+)$/.test(text)) {
      this.fail("not a number", token.start);
    }
    if (!Number.isFinite(Number(text))) this.fail("a number beyond those of 64 bits", token.start);
    return this.node({ kind: "number", text });
  }

  #word(token: Token): Expression {
    const upper = token.text.toUpperCase();
    const called = isPunctuation(this.peek(), "(");
    if (upper === "CASE" && !called) return this.case();
    if (upper === "INTERVAL" && !called && !isPunctuation(this.peek(), ".")) return this.interval();
    if ((upper === "DATE" || upper === "TIMESTAMP") && this.peek()?.kind === "string") {
      const value = this.tokens[this.at++] as Token;
      const name = upper === "DATE" ? "toDate" : "toDateTime";
      return this.node({ kind: "call", name, args: [{ kind: "string", value: value.value }] });
    }
    if (called) return this.#call(token);
    if (upper === "NULL") return { kind: "constant", name: "NULL" };
    if (upper === "TRUE" || upper === "FALSE") return { kind: "constant", name: upper === "TRUE" ? "true" : "false" };
    if (reserved.has(upper)) {
      if (upper === "SELECT") this.fail("a subquery is not allowed here", token.start);
      this.fail(`unexpected ${upper}; quote it with backticks if it is a column`, token.start);
    }
    if (isPunctuation(this.peek(), "->")) return this.#lambda([token]);
    if (this.#variables.includes(token.text) && !isPunctuation(this.peek(), ".")) {
      return this.node({ kind: "variable", name: token.text });
    }
    return this.#column(token);
  }

  #column(token: Token): Expression {
    const steps: FieldStep[] = [{ kind: "dotted", text: [token.value, ...this.#dotted()].join(".") }];
    return this.node({
      kind: "column",
      steps,
      text: this.text.slice(token.start, this.previousEnd()),
      at: token.start,
    });
  }

  #members(): FieldStep[] {
    return [{ kind: "dotted", text: this.#dotted().join(".") }];
  }

  /** `.name.name` after a name. */
  #dotted(): string[] {
    const names: string[] = [];
    while (isPunctuation(this.peek(), ".")) {
      const name = this.peek(1);
      if (name?.kind !== "word" && name?.kind !== "quotedIdentifier") this.fail("expected a name after '.'");
      names.push(name.value);
      this.at += 2;
    }
    return names;
  }

  #parenthesised(open: Token): Expression {
    if (isWord(this.peek(), "SELECT") || isWord(this.peek(), "WITH")) this.fail("a subquery is not allowed here");
    const variables = this.#lambdaVariables();
    if (variables !== undefined) return this.#lambda(variables);
    const items = this.arguments(")");
    if (items.length === 0) this.fail("the parentheses are empty", open.start);
    this.#between = undefined;
    return items.length === 1 ? (items[0] as Expression) : this.node({ kind: "tuple", items });
  }

  /** `a, b) ->` after an opening parenthesis, or undefined (and nothing read) when that is not what follows. */
  #lambdaVariables(): Token[] | undefined {
    const names: Token[] = [];
    for (let at = this.at; ; at += 2) {
      const name = this.tokens[at];
      if (name?.kind !== "word") return undefined;
      names.push(name);
      if (isPunctuation(this.tokens[at + 1], ",")) continue;
      if (!isPunctuation(this.tokens[at + 1], ")") || !isPunctuation(this.tokens[at + 2], "->")) return undefined;
      this.at = at + 2;
      return names;
    }
  }

  #lambda(names: readonly Token[]): Expression {
    this.expect("->");
    if (!this.#mayLambda) this.fail("a lambda may only be an argument of a function", names[0]?.start);
    const bad = names.find(
      (name) => !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name.text) || reserved.has(name.text.toUpperCase()),
    );
    if (bad !== undefined) this.fail("not a name for a variable", bad.start);
    const outer = this.#variables;
    const variables = names.map((name) => name.text);
    this.#variables = [...outer, ...variables];
    const body = this.expression();
    this.#variables = outer;
    return this.node({ kind: "lambda", variables, body });
  }

  /** True only while the arguments of a function are read, at their own level. */
  get #mayLambda(): boolean {
    return this.#callDepth === this.depth && this.depth > 0;
  }
  #call(token: Token): Expression {
    this.expect("(");
    const upper = token.text.toUpperCase();
    if (isWord(this.peek(), "SELECT") || isWord(this.peek(), "WITH")) this.fail("a subquery is not allowed here");
    if (upper === "CAST") return this.cast();
    if (upper === "EXTRACT" && isWord(this.peek(1), "FROM")) return this.extract();
    const name = allowedFunction(token.text);
    if (name === undefined) {
      if (aggregates.some((aggregate) => aggregate === token.text.toLowerCase())) {
        this.fail(`${token.text} is an aggregate; choose it as aggFn`, token.start);
      }
      const near = nearMatches(token.text, allowedFunctions());
      const hint = near.length === 0 ? "" : `; did you mean ${near.join(", ")}?`;
      this.fail(`the function ${token.text.slice(0, 100)} is not available here${hint}`, token.start);
    }
    const outer = this.#callDepth;
    this.#callDepth = this.depth + 1;
    const args = this.arguments(")");
    this.#callDepth = outer;
    if (isWord(this.peek(), "OVER")) this.fail("window functions are not allowed here");
    return this.node({ kind: "call", name, args });
  }

  arguments(close: string): Expression[] {
    const items: Expression[] = [];
    if (this.take(close)) return items;
    do items.push(this.expression());
    while (this.take(","));
    this.expect(close);
    return items;
  }
}

const comparisons: Readonly<Record<string, BinaryOperator>> = {
  "=": "=",
  "==": "=",
  "!=": "!=",
  "<>": "!=",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
  "<=>": "<=>",
};

function isConstant(item: Expression): boolean {
  if (item.kind === "tuple" || item.kind === "array") return item.items.every(isConstant);
  if (item.kind === "negate") return isConstant(item.item);
  if (item.kind === "cast") return isConstant(item.item);
  return item.kind === "number" || item.kind === "string" || item.kind === "constant";
}
