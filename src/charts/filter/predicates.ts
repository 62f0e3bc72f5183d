/** One test of one value, as SQL. What a test means is decided by the type of the value. */
import { type ColumnType, isNumeric } from "../../clickhouse/types.ts";
import { intoArray, type Operand } from "../columns/operand.ts";
import type { Params } from "../columns/params.ts";
import {
  type CompareOperator,
  FilterError,
  literalText,
  type PatternPart,
  type Term,
  type ValuePredicate,
} from "./syntax.ts";
import { bindDay, bindInstant, bindNumber, isNumber, parseTime, type Span } from "./values.ts";
import { holdsAddress } from "./words.ts";

/** A boolean expression, and whether it can be NULL (which counts as false). */
export type Condition = { readonly sql: string; readonly nullable: boolean };

export type PredicateContext = {
  readonly params: Params;
  /** IANA zone of times that are written without an offset. */
  readonly zone: string;
};

const always: Condition = { sql: "true", nullable: false };
const never: Condition = { sql: "false", nullable: false };

/** Compiles a predicate on a value that the schema has typed. Throws FilterError where the type does not allow it. */
export function compilePredicate(
  operand: Operand,
  test: ValuePredicate,
  label: string,
  context: PredicateContext,
): Condition {
  if (operand.type.family === "array") return arrayTest(operand, test, label, context);
  const inner = scalarTest(operand, test, label, context);
  if (inner === always || inner === never) {
    return operand.arrays.length === 0 ? inner : anyElement(operand, inner);
  }
  const hinted = operand.hint !== undefined && impliesValue(test) ? `${operand.hint} AND ${inner.sql}` : inner.sql;
  return anyElement(operand, { sql: hinted, nullable: inner.nullable });
}

/** The index hint may only be added where an absent key, whose value is empty, cannot match. */
function impliesValue(test: ValuePredicate): boolean {
  if (test.kind === "exact") return test.text !== "";
  return test.kind === "exists" || (test.kind === "word" && test.parts.some((part) => part.kind === "text"));
}

function anyElement(operand: Operand, inner: Condition): Condition {
  return operand.arrays.reduceRight<Condition>((condition, { sql, variable }) => {
    const body = condition.nullable ? `ifNull(${condition.sql}, false)` : condition.sql;
    return { sql: `arrayExists(${variable} -> (${body}), ${sql})`, nullable: false };
  }, inner);
}

function arrayTest(operand: Operand, test: ValuePredicate, label: string, context: PredicateContext): Condition {
  if (test.kind === "exists") return anyElement(operand, { sql: `notEmpty(${operand.sql})`, nullable: false });
  const element = operand.type.items[0] as ColumnType;
  if (test.kind === "exact" && element.family === "text" && operand.arrays.length === 0) {
    return { sql: `has(${operand.sql}, ${context.params.bind(test.text, "String")})`, nullable: false };
  }
  return compilePredicate(intoArray(operand), test, label, context);
}

function scalarTest(operand: Operand, test: ValuePredicate, label: string, context: PredicateContext): Condition {
  const { type } = operand;
  if (isNumeric(type)) return numberTest(operand, test, label, context);
  switch (type.family) {
    case "text":
    case "enum":
    case "dynamic":
      return textTest(operand, test, label, context);
    case "boolean":
      return booleanTest(operand, test, label, context);
    case "date":
    case "dateTime":
      return timeTest(operand, test, label, context);
    case "uuid":
      return uuidTest(operand, test, label, context);
    case "ip":
      return addressTest(operand, test, label, context);
    case "map":
    case "json":
      if (test.kind === "exists" && type.family === "map") return { sql: `notEmpty(${operand.sql})`, nullable: false };
      throw new FilterError(`${label} holds many values; name one, as in ${label}.key`, test.at);
    default:
      throw new FilterError(`${label} has type ${type.text}, which a filter cannot test`, test.at);
  }
}

function textOf(operand: Operand): string {
  const { type, sql } = operand;
  if (type.name === "FixedString") return `toStringCutToZero(${sql})`;
  // toString would make an empty text of a missing value.
  if (type.family === "dynamic") return `CAST(${sql} AS Nullable(String))`;
  return type.family === "text" ? sql : `toString(${sql})`;
}

function textTest(operand: Operand, test: ValuePredicate, label: string, context: PredicateContext): Condition {
  const { params } = context;
  const sql = textOf(operand);
  const { nullable } = operand;
  switch (test.kind) {
    case "exists":
      return { sql: `${sql} != ''`, nullable };
    case "exact":
      return { sql: `${sql} = ${params.bind(test.text, "String")}`, nullable };
    case "word":
      return { sql: wordTest(operand, sql, test.parts, params), nullable };
    case "compare": {
      const number = test.value.quoted ? undefined : numberParam(test.value.text, params);
      if (number !== undefined) return { sql: `toFloat64OrNull(${sql}) ${test.operator} ${number}`, nullable: true };
      return { sql: `${sql} ${test.operator} ${params.bind(test.value.text, "String")}`, nullable };
    }
    case "range": {
      const bounds = [test.low, test.high].filter((bound) => bound !== undefined);
      const numeric = bounds.every((bound) => !bound.quoted && isNumber(bound.text));
      const subject = numeric ? `toFloat64OrNull(${sql})` : sql;
      const bind = (bound: Term) => (numeric ? numberParam(bound.text, params) : params.bind(bound.text, "String"));
      const parts = rangeParts(test, (operator, bound) => `${subject} ${operator} ${bind(bound)}`);
      if (parts.length === 0) return textTest(operand, { kind: "exists", at: test.at }, label, context);
      return { sql: conjunction(parts), nullable: nullable || numeric };
    }
  }
}

/** A word is contained in text. A number in JSON is not contained but equal, nor is an address a part of another. */
function wordTest(operand: Operand, sql: string, parts: readonly PatternPart[], params: Params): string {
  const plain = literalText(parts);
  if (plain !== undefined && isIPv4(plain)) return holdsAddress(sql, plain, params);
  const contained = matches(sql, parts, params, operand.type.text.startsWith("LowCardinality"));
  const number = plain === undefined ? undefined : numberParam(plain, params);
  if (operand.isNumber === undefined || number === undefined) return contained;
  // As text where the digits are more than a double holds.
  const equal = /^[+-]?\d{16,}$/.test(plain ?? "")
    ? `${sql} = ${params.bind(String(BigInt(plain ?? "")), "String")}`
    : `toFloat64OrNull(${sql}) = ${number}`;
  return `if(${operand.isNumber}, ${equal}, ${contained})`;
}

function numberParam(text: string, params: Params): string | undefined {
  return isNumber(text) && Number.isFinite(Number(text)) ? params.bind(String(Number(text)), "Float64") : undefined;
}

/** A word is contained in the text; with wildcards it is a pattern of the whole text. Case does not count. */
export function matches(sql: string, parts: readonly PatternPart[], params: Params, fewValues = false): string {
  const plain = literalText(parts);
  if (plain !== undefined) return contains(sql, plain, params, fewValues);
  const pattern = parts.map((part) => (part.kind === "text" ? likeText(part.text) : part.kind === "any" ? "%" : "_"));
  return like(sql, pattern.join(""), params, fewValues);
}

export function contains(sql: string, text: string, params: Params, fewValues = false): string {
  return like(sql, `%${likeText(text)}%`, params, fewValues);
}

/**
 * Lowering once and searching case-sensitively is twice as fast as ILIKE, which only text beyond ASCII needs. Not so in
 * a dictionary column, whose few values are searched once each: there lowering costs more than it saves.
 */
function like(sql: string, pattern: string, params: Params, fewValues: boolean): string {
  if (fewValues || /[^\0-\x7f]/.test(pattern)) return `${sql} ILIKE ${params.bind(pattern, "String")}`;
  return `lower(${sql}) LIKE ${params.bind(pattern.toLowerCase(), "String")}`;
}

function likeText(text: string): string {
  return text.replace(/[\\%_]/g, "\\$&");
}

function numberTest(operand: Operand, test: ValuePredicate, label: string, { params }: PredicateContext): Condition {
  const { sql, type, nullable } = operand;
  const bind = (text: string, at: number) => {
    const bound = bindNumber(text, type, params);
    if (bound === undefined) {
      throw new FilterError(`${label} is a number (${type.text}), ${JSON.stringify(text.slice(0, 100))} is not`, at);
    }
    return bound;
  };
  switch (test.kind) {
    case "exists":
      return nullable ? { sql: `${sql} IS NOT NULL`, nullable: false } : always;
    case "exact":
      return { sql: `${sql} = ${bind(test.text, test.at)}`, nullable };
    case "word": {
      const plain = literalText(test.parts);
      if (plain === undefined) return { sql: matches(`toString(${sql})`, test.parts, params), nullable };
      return { sql: `${sql} = ${bind(plain, test.at)}`, nullable };
    }
    case "compare":
      return { sql: `${sql} ${test.operator} ${bind(test.value.text, test.value.at)}`, nullable };
    case "range": {
      const parts = rangeParts(test, (operator, bound) => `${sql} ${operator} ${bind(bound.text, bound.at)}`);
      if (parts.length > 0) return { sql: conjunction(parts), nullable };
      return nullable ? { sql: `${sql} IS NOT NULL`, nullable: false } : always;
    }
  }
}

function booleanTest(operand: Operand, test: ValuePredicate, label: string, { params }: PredicateContext): Condition {
  const { sql, nullable } = operand;
  if (test.kind === "exists") return nullable ? { sql: `${sql} IS NOT NULL`, nullable: false } : always;
  const given = test.kind === "exact" ? test.text : test.kind === "word" ? literalText(test.parts) : undefined;
  const value = { true: "true", "1": "true", false: "false", "0": "false" }[given?.toLowerCase() ?? ""];
  if (value === undefined) throw new FilterError(`${label} is a boolean: write true or false`, test.at);
  return { sql: `${sql} = ${params.bind(value, "Bool")}`, nullable };
}

function timeTest(
  operand: Operand,
  test: ValuePredicate,
  label: string,
  { params, zone }: PredicateContext,
): Condition {
  const { sql, nullable, type } = operand;
  const span = (text: string, at: number): Span => {
    const read = parseTime(text, type.family === "date" ? "UTC" : zone);
    if (read) return read;
    throw new FilterError(`${label} is a time: write it as 2024-05-01 or 2024-05-01T10:00:00Z`, at);
  };
  const bind = (ns: bigint) => (type.family === "date" ? bindDay(ns, params) : bindInstant(ns, params));
  const compare = (operator: CompareOperator, { from, to }: Span) => {
    // A time stands for its whole span: after a day means after its end.
    if (operator === ">") return `${sql} >= ${bind(to)}`;
    if (operator === ">=") return `${sql} >= ${bind(from)}`;
    return operator === "<" ? `${sql} < ${bind(from)}` : `${sql} < ${bind(to)}`;
  };
  const exists: Condition = nullable ? { sql: `${sql} IS NOT NULL`, nullable: false } : always;
  if (test.kind === "exists") return exists;
  if (test.kind === "compare") {
    return { sql: compare(test.operator, span(test.value.text, test.value.at)), nullable };
  }
  if (test.kind === "range") {
    const parts = rangeParts(test, (operator, bound) => compare(operator, span(bound.text, bound.at)));
    return parts.length === 0 ? exists : { sql: conjunction(parts), nullable };
  }
  if (test.kind === "word" && literalText(test.parts) === undefined) {
    return { sql: matches(`toString(${sql})`, test.parts, params), nullable };
  }
  const given = test.kind === "exact" ? test.text : (literalText(test.parts) as string);
  const whole = span(given, test.at);
  return { sql: conjunction([compare(">=", whole), compare("<=", whole)]), nullable };
}

const uuidText = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function uuidTest(operand: Operand, test: ValuePredicate, label: string, context: PredicateContext): Condition {
  const { sql, nullable } = operand;
  const given = test.kind === "exact" ? test.text : test.kind === "word" ? literalText(test.parts) : undefined;
  if (given !== undefined && uuidText.test(given)) {
    return { sql: `${sql} = ${context.params.bind(given, "UUID")}`, nullable };
  }
  return asText(operand, test, label, "a UUID", context);
}

function addressTest(operand: Operand, test: ValuePredicate, label: string, context: PredicateContext): Condition {
  const { sql, nullable } = operand;
  const given = test.kind === "exact" ? test.text : test.kind === "word" ? literalText(test.parts) : undefined;
  const network = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(given ?? "");
  if (given !== undefined && network) {
    const bits = Number(network[2]);
    if (!isAddress(network[1] as string) || bits > (given.includes(":") ? 128 : 32)) {
      throw new FilterError(`${label} is an address: ${JSON.stringify(given)} is not a network`, test.at);
    }
    const range = `isIPAddressInRange(toString(${sql}), ${context.params.bind(given, "String")})`;
    return { sql: range, nullable };
  }
  if (given !== undefined && given !== "") {
    const type = operand.type.name === "IPv4" ? "IPv4" : "IPv6";
    if (!isAddress(given) || (type === "IPv4" && given.includes(":"))) {
      const how = "write it whole, as a network such as 10.0.0.0/8, or with a wildcard, as in 10.0.*";
      throw new FilterError(`${label} is an address, ${JSON.stringify(given.slice(0, 100))} is not; ${how}`, test.at);
    }
    return { sql: `${sql} = to${type}(${context.params.bind(given, "String")})`, nullable };
  }
  return asText(operand, test, label, "an address", context);
}

function isAddress(text: string): boolean {
  return text.includes(":") ? URL.canParse(`http://[${text}]/`) : isIPv4(text);
}

function isIPv4(text: string): boolean {
  return /^(\d{1,3})(\.\d{1,3}){3}$/.test(text) && text.split(".").every((part) => Number(part) < 256);
}

/** Words and exact text on the printed form of a value; an order of such values means nothing. */
function asText(
  operand: Operand,
  test: ValuePredicate,
  label: string,
  what: string,
  context: PredicateContext,
): Condition {
  if (test.kind === "exists") {
    return operand.nullable ? { sql: `${operand.sql} IS NOT NULL`, nullable: false } : always;
  }
  if (test.kind === "compare" || test.kind === "range") {
    throw new FilterError(`${label} is ${what}: it can be equal or not, but not greater or less`, test.at);
  }
  return textTest(operand, test, label, context);
}

type Range = Extract<ValuePredicate, { kind: "range" }>;

function rangeParts(range: Range, compare: (operator: CompareOperator, bound: Term) => string): string[] {
  const parts: string[] = [];
  if (range.low !== undefined) parts.push(compare(range.includesLow ? ">=" : ">", range.low));
  if (range.high !== undefined) parts.push(compare(range.includesHigh ? "<=" : "<", range.high));
  return parts;
}

function conjunction(parts: readonly string[]): string {
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(" AND ")})`;
}
