/**
 * Checks the text of a column type that comes from a caller, before it becomes part of a CREATE TABLE: nothing but a
 * type may stand in it, so no DEFAULT, no expression, no second statement. Whether the type exists, the engine says.
 */
import { isPunctuation, type Token, tokenize } from "./lexer.ts";

/** What is wrong with the text, or undefined when it is one well-formed type. */
export function typeTextProblem(text: string): string | undefined {
  const reader = new TypeReader(tokenize(text));
  if (!reader.type(0)) return `is not a column type: ${reader.found()}`;
  return reader.atEnd() ? undefined : `has something behind the type: ${reader.found()}`;
}

const maxDepth = 30;

class TypeReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  atEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  found(): string {
    return this.atEnd() ? "the text ends too early" : `unexpected ${this.#tokens[this.#at]?.text}`;
  }

  /** `Name` or `Name(argument, ...)`. */
  type(depth: number): boolean {
    if (depth > maxDepth || this.#peek()?.kind !== "word") return false;
    this.#at += 1;
    if (!this.#take("(")) return true;
    if (this.#take(")")) return true;
    do {
      if (!this.#argument(depth + 1)) return false;
    } while (this.#take(","));
    return this.#take(")");
  }

  /** A number, a string (with `= number` in enums), a type, or a member's name and type. */
  #argument(depth: number): boolean {
    const token = this.#peek();
    if (token?.kind === "number") return this.#advance();
    if (token?.kind === "string") {
      this.#at += 1;
      if (!this.#take("=")) return true;
      this.#take("-");
      return this.#peek()?.kind === "number" && this.#advance();
    }
    const named = token?.kind === "quotedIdentifier" || this.#tokens[this.#at + 1]?.kind === "word";
    if (named) this.#at += 1;
    return this.type(depth);
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #advance(): true {
    this.#at += 1;
    return true;
  }

  #take(symbol: string): boolean {
    if (!isPunctuation(this.#peek(), symbol)) return false;
    this.#at += 1;
    return true;
  }
}
