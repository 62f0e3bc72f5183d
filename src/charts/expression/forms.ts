/** The parts of an expression that begin with a word of their own: CAST, EXTRACT, CASE, INTERVAL and type names. */
import { isWord, type Token, tokenize } from "../../clickhouse/lexer.ts";
import { Cursor } from "./cursor.ts";
import type { Expression, IntervalUnit } from "./syntax.ts";
import { readType } from "./types.ts";

const intervalUnits: Readonly<Record<string, IntervalUnit>> = {
  SECOND: "Second",
  MINUTE: "Minute",
  HOUR: "Hour",
  DAY: "Day",
  WEEK: "Week",
  MONTH: "Month",
  QUARTER: "Quarter",
  YEAR: "Year",
};

export abstract class Forms extends Cursor {
  protected abstract expression(): Expression;
  protected abstract unary(): Expression;

  protected cast(): Expression {
    const item = this.expression();
    if (this.take(",")) {
      const token = this.peek();
      if (token?.kind !== "string") this.fail("expected the name of a type");
      this.at += 1;
      const inner = tokenize(token.value);
      const type = readType(inner, 0);
      if (type === undefined || type.end !== inner.length) this.fail("not a type that may be cast to", token.start);
      this.expect(")");
      return this.node({ kind: "cast", item, type: type.text });
    }
    if (!this.takeWord("AS")) this.fail("expected AS in CAST");
    const type = this.type();
    this.expect(")");
    return this.node({ kind: "cast", item, type });
  }

  protected type(): string {
    const type = readType(this.tokens, this.at);
    if (type === undefined) this.fail("not a type that may be cast to");
    this.at = type.end;
    return type.text;
  }

  protected extract(): Expression {
    const unit = this.tokens[this.at] as Token;
    const known = intervalUnits[unit.text.toUpperCase()];
    if (known === undefined) this.fail("not a part of a time", unit.start);
    this.at += 2;
    const item = this.expression();
    this.expect(")");
    const name = known === "Day" ? "toDayOfMonth" : known === "Week" ? "toISOWeek" : `to${known}`;
    return this.node({ kind: "call", name, args: [item] });
  }

  protected case(): Expression {
    const subject = isWord(this.peek(), "WHEN") ? [] : [this.expression()];
    const args: Expression[] = [];
    while (this.takeWord("WHEN")) {
      args.push(this.expression());
      if (!this.takeWord("THEN")) this.fail("expected THEN");
      args.push(this.expression());
    }
    if (args.length === 0) this.fail("expected WHEN");
    args.push(this.takeWord("ELSE") ? this.expression() : { kind: "constant", name: "NULL" });
    if (!this.takeWord("END")) this.fail("expected END");
    // With a subject it is the engine's own form, which reads the subject once.
    const name = subject.length === 0 ? "multiIf" : "caseWithExpression";
    return this.node({ kind: "call", name, args: [...subject, ...args] });
  }

  protected interval(): Expression {
    const token = this.peek();
    const words = token?.kind === "string" ? token.value.trim().split(/\s+/) : [];
    if (words.length === 2 && /^\d{1,9}$/.test(words[0] as string)) {
      const unit = intervalUnits[(words[1] as string).toUpperCase().replace(/S$/, "")];
      if (unit === undefined) this.fail("not a unit of time");
      this.at += 1;
      return this.node({ kind: "interval", item: { kind: "number", text: words[0] as string }, unit });
    }
    const item = this.unary();
    const name = this.peek();
    const unit = name?.kind === "word" ? intervalUnits[name.text.toUpperCase().replace(/S$/, "")] : undefined;
    if (unit === undefined) this.fail("expected a unit of time after INTERVAL");
    this.at += 1;
    return this.node({ kind: "interval", item, unit });
  }
}
