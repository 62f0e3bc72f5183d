/** Writes a parsed expression as SQL again. Names come from the schema, text values are bound, the rest is fixed. */
import type { ColumnType } from "../../clickhouse/types.ts";
import { maxWrittenDepth } from "../columns/budget.ts";
import { resolveField } from "../columns/operand.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { FilterError } from "../filter/syntax.ts";
import { isVolatile } from "./functions.ts";
import { parseExpression, parseExpressions } from "./parser.ts";
import { childrenOf, type Expression, knownStart } from "./syntax.ts";

export type Emitted = {
  readonly sql: string;
  /** True when the value depends on when the query runs (`now()`), so an answer must not be kept. */
  readonly volatile: boolean;
  /** The column's name when the expression is a column and nothing else. */
  readonly column: string | undefined;
  /** Known for a column or a path below one; other expressions must be asked of the engine. */
  readonly type: ColumnType | undefined;
};

/** Parses one expression and writes it for the columns of a table. Throws FilterError. */
export function emitExpression(text: string, schema: TableSchema, params: Params): Emitted {
  return emit(parseExpression(text), schema, params);
}

/** The same for a comma list. */
export function emitExpressions(text: string, schema: TableSchema, params: Params): Emitted[] {
  return parseExpressions(text).map((expression) => emit(expression, schema, params));
}

/** Writes an expression that is parsed already. Throws FilterError. */
export function emitParsed(expression: Expression, schema: TableSchema, params: Params): Emitted {
  return emit(expression, schema, params);
}

/** Writes a part of a parsed expression. Throws FilterError. */
export function emitPart(part: Expression, schema: TableSchema, params: Params): string {
  return new Emitter(schema, params).write(part);
}

function emit(expression: Expression, schema: TableSchema, params: Params): Emitted {
  const emitter = new Emitter(schema, params);
  const sql = emitter.write(expression);
  if (expression.kind !== "column") return { sql, volatile: emitter.volatile, column: undefined, type: undefined };
  const { type } = resolveField(expression.steps, expression, schema, params);
  const [step, ...others] = expression.steps;
  const whole = step?.kind === "dotted" && others.length === 0 && schema.columns.has(step.text);
  return { sql, volatile: false, column: whole ? step.text : undefined, type };
}

class Emitter {
  readonly #schema: TableSchema;
  readonly #params: Params;
  /** Where the part that is being written begins in the caller's text. */
  #at = 0;
  #depth = 0;
  volatile = false;

  constructor(schema: TableSchema, params: Params) {
    this.#schema = schema;
    this.#params = params;
  }

  /** Counts a part before its text is made. Throws FilterError. */
  write(node: Expression): string {
    const outer = this.#at;
    this.#at = node.kind === "column" ? node.at : (knownStart(node) ?? outer);
    this.#depth += 1;
    if (this.#depth > maxWrittenDepth) {
      throw new FilterError(`the expression is nested deeper than ${maxWrittenDepth} levels`, this.#at);
    }
    this.#spend(1, own(node));
    const sql = this.#part(node);
    this.#depth -= 1;
    this.#at = outer;
    return sql;
  }

  #spend(nodes: number, bytes: number): void {
    this.#params.budget.spend(nodes, bytes, this.#at);
  }

  #part(node: Expression): string {
    switch (node.kind) {
      case "number":
      case "constant":
        return node.kind === "number" ? node.text : node.name;
      case "string":
        return this.#params.bind(node.value, "String");
      case "array":
        return `[${this.#list(node.items)}]`;
      case "tuple":
        return `tuple(${this.#list(node.items)})`;
      case "column":
        return this.#column(node);
      case "variable":
        return node.name;
      case "call":
        if (isVolatile(node.name)) this.volatile = true;
        return `${node.name}(${this.#list(node.args)})`;
      case "cast":
        return `CAST(${this.write(node.item)} AS ${node.type})`;
      case "element":
        return `arrayElement(${this.write(node.item)}, ${this.write(node.index)})`;
      case "lambda":
        return `(${node.variables.join(", ")}) -> (${this.write(node.body)})`;
      case "interval":
        return `toInterval${node.unit}(${this.write(node.item)})`;
      default:
        return this.#operator(node);
    }
  }

  #operator(node: OperatorNode): string {
    switch (node.kind) {
      case "negate":
        return `negate(${this.write(node.item)})`;
      case "not":
        return `not(${this.write(node.item)})`;
      case "isNull":
        return `isNull(${this.write(node.item)})`;
      case "isNotNull":
        return `isNotNull(${this.write(node.item)})`;
      case "in":
      case "notIn": {
        const operator = node.kind === "in" ? "IN" : "NOT IN";
        return `(${this.write(node.item)} ${operator} (${this.#list(node.values)}))`;
      }
      case "between":
      case "notBetween": {
        const before = this.#params.budget.nodes;
        const item = this.write(node.item);
        // Its text stands once, but the engine compares it twice, and so on for each BETWEEN around it.
        this.#spend(this.#params.budget.nodes - before, 0);
        const operator = node.kind === "between" ? "BETWEEN" : "NOT BETWEEN";
        return `(${item} ${operator} ${this.write(node.low)} AND ${this.write(node.high)})`;
      }
      case "binary": {
        const operands = chainOf(node).map((operand) => this.write(operand));
        if (node.operator === "DIV") return `intDiv(${operands.join(", ")})`;
        return `(${operands.join(` ${node.operator} `)})`;
      }
    }
  }

  #column(node: Extract<Expression, { kind: "column" }>): string {
    const operand = resolveField(node.steps, node, this.#schema, this.#params);
    if (operand.arrays.length > 0) {
      throw new FilterError(`${node.text} is inside an array; use a position, arrayMap or arrayExists`, node.at);
    }
    this.#spend(0, Buffer.byteLength(operand.sql));
    return operand.sql;
  }

  #list(items: readonly Expression[]): string {
    return items.map((item) => this.write(item)).join(", ");
  }
}

/** The bytes that a part writes itself, without the parts below it; a column's are known when it was found. */
function own(node: Expression): number {
  switch (node.kind) {
    case "number":
      return node.text.length;
    case "string":
      return "{p1000:String}".length;
    case "variable":
      return node.name.length;
    case "call":
      return node.name.length + 2 + 2 * node.args.length;
    case "cast":
      return "CAST( AS )".length + node.type.length;
    case "lambda":
      return node.variables.join(", ").length + "() -> ()".length;
    case "column":
      return 0;
    default:
      return 16 + 2 * childrenOf(node).length;
  }
}

/** The operands of `a AND b AND c` and `a OR b OR c`, which need no parentheses among them. */
function chainOf(node: Extract<Expression, { kind: "binary" }>): Expression[] {
  const { operator } = node;
  const operands = [node.right];
  let left = node.left;
  while ((operator === "AND" || operator === "OR") && left.kind === "binary" && left.operator === operator) {
    operands.push(left.right);
    left = left.left;
  }
  operands.push(left);
  return operands.reverse();
}

type OperatorNode = Extract<
  Expression,
  {
    kind: "negate" | "not" | "isNull" | "isNotNull" | "in" | "notIn" | "between" | "notBetween" | "binary";
  }
>;
