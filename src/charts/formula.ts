/**
 * Arithmetic over the series of a row: `series_0 / (series_0 + series_1) * 100`. Numbers, + - * /, parentheses and the
 * functions below. Where an operand is missing, a divisor is zero or the result is not finite, the result is null.
 */
import { FilterError } from "./filter/syntax.ts";

export type Formula = (values: readonly (number | null)[]) => number | null;

type Apply = (...args: number[]) => number;

const functions: Readonly<Record<string, { readonly min: number; readonly max: number; readonly apply: Apply }>> = {
  abs: { min: 1, max: 1, apply: Math.abs },
  sqrt: { min: 1, max: 1, apply: Math.sqrt },
  ln: { min: 1, max: 1, apply: Math.log },
  log10: { min: 1, max: 1, apply: Math.log10 },
  floor: { min: 1, max: 1, apply: Math.floor },
  ceil: { min: 1, max: 1, apply: Math.ceil },
  round: { min: 1, max: 1, apply: Math.round },
  min: { min: 1, max: 10, apply: Math.min },
  max: { min: 1, max: 10, apply: Math.max },
};
const maxDepth = 50;

/** Parses a formula over `count` series. Throws FilterError. */
export function parseFormula(text: string, count: number): Formula {
  return new Parser(text, count).parse();
}

class Parser {
  readonly #text: string;
  readonly #count: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, count: number) {
    this.#text = text;
    this.#count = count;
  }

  parse(): Formula {
    const formula = this.#sum();
    if (this.#peek() !== undefined) this.#fail(`unexpected ${JSON.stringify(this.#peek())}`);
    return (values) => {
      const result = formula(values);
      return result !== null && Number.isFinite(result) ? result : null;
    };
  }

  #sum(): Formula {
    let left = this.#product();
    for (;;) {
      if (this.#take("+")) left = combine(left, this.#product(), (a, b) => a + b);
      else if (this.#take("-")) left = combine(left, this.#product(), (a, b) => a - b);
      else return left;
    }
  }

  #product(): Formula {
    let left = this.#factor();
    for (;;) {
      if (this.#take("*")) left = combine(left, this.#factor(), (a, b) => a * b);
      else if (this.#take("/")) left = combine(left, this.#factor(), (a, b) => (b === 0 ? null : a / b));
      else return left;
    }
  }

  #factor(): Formula {
    this.#depth += 1;
    if (this.#depth > maxDepth) this.#fail("the formula is nested too deeply");
    const factor = this.#take("-") ? negated(this.#factor()) : this.#operand();
    this.#depth -= 1;
    return factor;
  }

  #operand(): Formula {
    if (this.#take("(")) {
      const inner = this.#sum();
      if (!this.#take(")")) this.#fail("expected ')'");
      return inner;
    }
    this.#peek();
    const start = this.#at;
    const token = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[A-Za-z_][A-Za-z0-9_]*)/.exec(this.#text.slice(start))?.[0];
    if (token === undefined) this.#fail("expected a number, a series or '('");
    this.#at += token.length;
    if (/^\d/.test(token)) return () => Number(token);
    const series = /^series_(\d)$/.exec(token);
    if (series) {
      const index = Number(series[1]);
      if (index >= this.#count) this.#fail(`the request has no ${token}`, start);
      return (values) => values[index] ?? null;
    }
    return this.#call(token, start);
  }

  #call(name: string, start: number): Formula {
    const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (known === undefined || !this.#take("(")) {
      this.#fail(`unknown name ${name}; write series_0 or one of ${Object.keys(functions).join(", ")}`, start);
    }
    const args: Formula[] = [];
    do args.push(this.#sum());
    while (this.#take(","));
    if (!this.#take(")")) this.#fail("expected ')'");
    if (args.length < known.min || args.length > known.max)
      this.#fail(`${name} has too few or too many arguments`, start);
    return (values) => {
      const given = args.map((arg) => arg(values));
      return given.some((value) => value === null) ? null : known.apply(...(given as number[]));
    };
  }

  #peek(): string | undefined {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at += 1;
    return this.#text[this.#at];
  }

  #take(symbol: string): boolean {
    if (this.#peek() !== symbol) return false;
    this.#at += 1;
    return true;
  }

  #fail(message: string, position = this.#at): never {
    throw new FilterError(message, position);
  }
}

function combine(left: Formula, right: Formula, apply: (a: number, b: number) => number | null): Formula {
  return (values) => {
    const a = left(values);
    const b = right(values);
    return a === null || b === null ? null : apply(a, b);
  };
}

function negated(formula: Formula): Formula {
  return (values) => {
    const value = formula(values);
    return value === null ? null : -value;
  };
}
