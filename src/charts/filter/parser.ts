/**
 * The recursive-descent parser of the filter language. Precedence, loosest first: OR, AND (also by juxtaposition),
 * NOT / `-` / `!`. The grammar is in docs/filter-language.md.
 */
import { checkLowerCase, checkWord, type LowerCaseWord, type Warn } from "./doubtful.ts";
import { readQuoted, readWord, skipSpace, startsWord, type Word } from "./lexer.ts";
import {
  type CompareOperator,
  type FieldStep,
  FilterError,
  type FilterField,
  type FilterNode,
  type Term,
} from "./syntax.ts";

/** A filter longer than this is refused, in UTF-16 units. */
export const maxFilterLength = 32_768;
const maxDepth = 100;
const maxTests = 500;

/**
 * Parses a filter; blank text is the filter that matches everything. `warn` receives what was possibly meant
 * differently. Throws FilterError.
 */
export function parseFilter(text: string, warn: Warn = () => {}): FilterNode {
  if (text.length > maxFilterLength) {
    throw new FilterError(`the filter is longer than ${maxFilterLength} characters`, maxFilterLength);
  }
  return new Parser(text, warn).parse();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #tests = 0;

  readonly #warn: Warn;
  readonly #lowerCase = new Map<FilterNode, LowerCaseWord>();

  constructor(text: string, warn: Warn) {
    this.#text = text;
    this.#warn = warn;
  }

  parse(): FilterNode {
    this.#skip();
    if (this.#at >= this.#text.length) return { kind: "all" };
    const node = this.#or(undefined);
    if (this.#at < this.#text.length) this.#fail(`unexpected ${JSON.stringify(this.#text[this.#at])}`);
    return node;
  }

  #or(field: FilterField | undefined): FilterNode {
    const items = [this.#and(field)];
    while (this.#takeKeyword("OR") || this.#takeSymbol("||")) items.push(this.#and(field));
    return items.length === 1 ? (items[0] as FilterNode) : { kind: "or", items };
  }

  #and(field: FilterField | undefined): FilterNode {
    const items = [this.#unary(field)];
    for (;;) {
      if (this.#takeKeyword("AND") || this.#takeSymbol("&&")) items.push(this.#unary(field));
      else if (this.#startsOperand()) items.push(this.#unary(field));
      else break;
    }
    checkLowerCase(items, this.#lowerCase, this.#warn);
    return items.length === 1 ? (items[0] as FilterNode) : { kind: "and", items };
  }

  #unary(field: FilterField | undefined): FilterNode {
    const next = this.#text[this.#at];
    const glued = next !== undefined && "-!+".includes(next) && this.#operandAt(this.#at + 1);
    if (this.#takeKeyword("NOT")) return { kind: "not", item: this.#nested(() => this.#unary(field)) };
    if (glued && !(field !== undefined && next !== "!" && /[\d.]/.test(this.#text[this.#at + 1] as string))) {
      this.#at += 1;
      const item = this.#nested(() => this.#unary(field));
      return next === "+" ? item : { kind: "not", item };
    }
    return this.#operand(field);
  }

  #operand(field: FilterField | undefined): FilterNode {
    const start = this.#at;
    if (this.#text[start] === "(") return this.#group(field);
    if (field !== undefined) return this.#value(field);
    if (this.#text[start] === '"') return { kind: "match", field: undefined, test: this.#quotedTest() };
    if (this.#text[start] === "`") return this.#fieldTest(this.#backtickField());
    if (!startsWord(this.#text, start)) this.#fail(this.#expected("a word, a field or '('"));
    this.#refuseKeyword();
    const word = readWord(this.#text, start, "start");
    const after = this.#text[word.end];
    if (after === ":" || after === "[") return this.#fieldTest(this.#field(word));
    this.#at = word.end;
    this.#skip();
    if (word.text === "*" && !word.escaped) return { kind: "all" };
    return this.#word(undefined, word);
  }

  #group(field: FilterField | undefined): FilterNode {
    const open = this.#at;
    this.#at += 1;
    this.#skip();
    if (this.#text[this.#at] === ")") this.#fail("the group is empty", open);
    const node = this.#nested(() => this.#or(field));
    if (this.#text[this.#at] !== ")") {
      this.#fail(this.#at >= this.#text.length ? "this '(' is not closed" : this.#expected("')'"), open);
    }
    this.#at += 1;
    this.#skip();
    return node;
  }

  /** The rest of a field whose first word was read: `['key']`, `[1]` and `.more`, up to the colon. */
  #field(first: Word): FilterField {
    const steps: FieldStep[] = [{ kind: "dotted", text: first.text }];
    let at = first.end;
    while (this.#text[at] === "[" || (this.#text[at] === "." && steps.length > 1)) {
      if (this.#text[at] === ".") {
        const word = readWord(this.#text, at + 1, "start");
        if (word.end === at + 1) this.#fail("expected a name after '.'", at + 1);
        steps.push({ kind: "dotted", text: word.text });
        at = word.end;
      } else at = this.#bracket(at, steps);
    }
    if (this.#text[at] !== ":") this.#fail("expected ':' after the field", at);
    this.#at = at + 1;
    return { steps, text: this.#text.slice(first.start, at), at: first.start };
  }

  #backtickField(): FilterField {
    const start = this.#at;
    const name = readQuoted(this.#text, start);
    if (this.#text[name.end] !== ":" && this.#text[name.end] !== "[") {
      this.#fail("expected ':' after the field", name.end);
    }
    const field = this.#field({ parts: [], text: name.value, escaped: true, start, end: name.end });
    return { ...field, text: name.value };
  }

  #bracket(open: number, steps: FieldStep[]): number {
    const index = /\[(\d{1,9})\]/y;
    index.lastIndex = open;
    const match = index.exec(this.#text);
    if (match) {
      steps.push({ kind: "index", index: Number(match[1]) });
      return open + match[0].length;
    }
    const quote = this.#text[open + 1];
    if (quote !== "'" && quote !== '"') this.#fail("expected a quoted key or a position after '['", open + 1);
    const key = readQuoted(this.#text, open + 1);
    if (this.#text[key.end] !== "]") this.#fail("expected ']'", key.end);
    steps.push({ kind: "key", text: key.value });
    return key.end + 1;
  }

  #fieldTest(field: FilterField): FilterNode {
    this.#skip();
    if (this.#text[this.#at] === "(") return this.#group(field);
    const node = this.#value(field);
    return field.text === "*" && node.kind === "match" && node.test.kind === "exists" ? { kind: "all" } : node;
  }

  #value(field: FilterField): FilterNode {
    const start = this.#at;
    const char = this.#text[start];
    if (char === '"') return this.#match(field, this.#quotedTest());
    if (char === "[" || char === "{") return this.#range(field);
    if (!startsWord(this.#text, start)) this.#fail(this.#expected(`a value for ${field.text}`));
    const operator = /^(?:>=|<=|>|<)/.exec(this.#text.slice(start, start + 2))?.[0];
    if (operator !== undefined) {
      this.#at += operator.length;
      this.#skip();
      const value = this.#term("value");
      return this.#match(field, { kind: "compare", operator: operator as CompareOperator, value, at: start });
    }
    this.#refuseKeyword();
    const word = readWord(this.#text, start, "value");
    this.#at = word.end;
    this.#skip();
    if (word.text === "*" && !word.escaped) return this.#match(field, { kind: "exists", at: start });
    return this.#word(field, word);
  }

  #word(field: FilterField | undefined, word: Word): FilterNode {
    checkWord(this.#text.slice(word.start, word.end), word, field !== undefined, this.#warn);
    const node = this.#match(field, { kind: "word", parts: word.parts, at: word.start });
    if (!word.escaped && /^(and|or)$/i.test(word.text)) this.#lowerCase.set(node, { text: word.text, at: word.start });
    return node;
  }

  #range(field: FilterField): FilterNode {
    const start = this.#at;
    this.#at += 1;
    this.#skip();
    const low = this.#term("bound");
    if (!this.#takeKeyword("TO")) this.#fail("expected TO between the two bounds of the range");
    const high = this.#term("bound");
    const close = this.#text[this.#at];
    if (close !== "]" && close !== "}") this.#fail(this.#expected("']' or '}' at the end of the range"));
    this.#at += 1;
    this.#skip();
    const open = (term: Term) => !term.quoted && term.text === "*";
    return this.#match(field, {
      kind: "range",
      low: open(low) ? undefined : low,
      high: open(high) ? undefined : high,
      includesLow: this.#text[start] === "[",
      includesHigh: close === "]",
      at: start,
    });
  }

  #term(place: "value" | "bound"): Term {
    const at = this.#at;
    if (this.#text[at] === '"') {
      const quoted = readQuoted(this.#text, at);
      this.#at = quoted.end;
      this.#skip();
      return { text: quoted.value, quoted: true, at };
    }
    if (!startsWord(this.#text, at)) this.#fail(this.#expected("a value"));
    const word = readWord(this.#text, at, place);
    this.#at = word.end;
    this.#skip();
    return { text: word.text, quoted: word.escaped, at };
  }

  #quotedTest(): { kind: "exact"; text: string; at: number } {
    const at = this.#at;
    const quoted = readQuoted(this.#text, at);
    if (this.#text[quoted.end] === "~") {
      this.#fail("a distance after a phrase is not supported; leave out '~'", quoted.end);
    }
    this.#at = quoted.end;
    this.#skip();
    return { kind: "exact", text: quoted.value, at };
  }

  #match(field: FilterField | undefined, test: Extract<FilterNode, { kind: "match" }>["test"]): FilterNode {
    this.#tests += 1;
    if (this.#tests > maxTests) this.#fail(`the filter has more than ${maxTests} conditions`);
    return { kind: "match", field, test };
  }

  #nested<T>(body: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxDepth) this.#fail(`the filter is nested deeper than ${maxDepth} levels`);
    const result = body();
    this.#depth -= 1;
    return result;
  }

  #startsOperand(): boolean {
    if (this.#keywordAt("OR") || this.#symbolAt("||")) return false;
    return this.#operandAt(this.#at);
  }

  /** Where an operand may begin. A range bracket counts, so that a stray one is reported at its own place. */
  #operandAt(at: number): boolean {
    const char = this.#text[at];
    return char !== undefined && char !== ")" && !/\s/.test(char);
  }

  #keywordAt(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    const after = this.#text[this.#at + word.length];
    return after === undefined || /[\s()"]/.test(after);
  }

  #symbolAt(symbol: string): boolean {
    return this.#text.startsWith(symbol, this.#at);
  }

  #takeKeyword(word: string): boolean {
    if (!this.#keywordAt(word)) return false;
    this.#at += word.length;
    this.#skip();
    return true;
  }

  #takeSymbol(symbol: string): boolean {
    if (!this.#symbolAt(symbol)) return false;
    this.#at += symbol.length;
    this.#skip();
    return true;
  }

  #refuseKeyword(): void {
    const word = ["AND", "OR", "NOT"].find((keyword) => this.#keywordAt(keyword));
    if (word !== undefined) this.#fail(`${word} needs a condition here; quote it to search for the word`);
    const symbol = ["&&", "||"].find((text) => this.#symbolAt(text));
    if (symbol !== undefined) this.#fail(`${symbol} needs a condition on both sides`);
  }

  #skip(): void {
    this.#at = skipSpace(this.#text, this.#at);
  }

  #expected(what: string): string {
    const found = this.#text[this.#at];
    return found === undefined
      ? `expected ${what}, but the filter ends`
      : `expected ${what}, not ${JSON.stringify(found)}`;
  }

  #fail(message: string, position = this.#at): never {
    throw new FilterError(message, position);
  }
}
