/** Reading tokens one after another, with limits on depth and size and errors that carry a position. */
import { isPunctuation, isWord, type Token, tokenize } from "../../clickhouse/lexer.ts";
import { FilterError } from "../filter/syntax.ts";
import type { BinaryOperator, Expression } from "./syntax.ts";

const maxDepth = 100;
const maxNodes = 5000;

export class Cursor {
  protected readonly text: string;
  protected readonly tokens: readonly Token[];
  protected at = 0;
  protected depth = 0;
  #nodes = 0;

  constructor(text: string) {
    this.text = text;
    this.tokens = tokenize(text);
  }

  protected enter(): void {
    this.depth += 1;
    if (this.depth > maxDepth) this.fail(`the expression is nested deeper than ${maxDepth} levels`);
  }

  protected leave(): void {
    this.depth -= 1;
  }

  protected binary(operator: BinaryOperator, left: Expression, right: Expression): Expression {
    return this.node({ kind: "binary", operator, left, right });
  }

  protected node(node: Expression): Expression {
    this.#nodes += 1;
    if (this.#nodes > maxNodes) this.fail(`the expression has more than ${maxNodes} parts`);
    return node;
  }

  protected peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead];
  }

  protected previousEnd(): number {
    return this.tokens[this.at - 1]?.end ?? 0;
  }

  protected take(symbol: string): boolean {
    if (!isPunctuation(this.peek(), symbol)) return false;
    this.at += 1;
    return true;
  }

  protected takeWord(word: string): boolean {
    if (!isWord(this.peek(), word)) return false;
    this.at += 1;
    return true;
  }

  protected expect(symbol: string): void {
    if (!this.take(symbol)) this.fail(`expected '${symbol}'`);
  }

  protected fail(message: string, position = this.peek()?.start ?? this.text.length): never {
    throw new FilterError(message, position);
  }
}
