/**
 * An independent check of generated SQL: splits it with the SQL lexer and lists every token that is neither a name of
 * the table's schema nor on a fixed list of words, functions and symbols. Independent of how the SQL was generated.
 */
import type { TableSchema } from "../../src/charts/columns/schema.ts";
import { tokenize } from "../../src/clickhouse/lexer.ts";

const words = new Set(
  (
    "AND OR NOT LIKE ILIKE IS NULL IN true false CAST AS Nullable String ifNull indexHint mapContains tupleElement " +
    "JSONExtract arrayExists notEmpty has toStringCutToZero toString toFloat64OrNull lower hasToken isIPAddressInRange " +
    "isNull isNotNull not negate intDiv arrayElement tuple " +
    "isValidASCII match if JSONType dynamicType Dynamic toIPv4 toIPv6"
  ).split(" "),
);
const texts = new Set(["Nullable(String)", "Int64", "UInt64", "Double", "^(U?Int|Float)"]);
const symbols = new Set([
  "(",
  ")",
  "[",
  "]",
  ",",
  ".",
  "=",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
  "->",
  "+",
  "-",
  "*",
  "/",
  "%",
  "||",
  "<=>",
]);
const parameterTypes =
  /^\{p\d+:(String|U?Int\d+|Float32|Float64|Bool|UUID|Date32|DateTime64\(9, 'UTC'\)|Decimal\(38, \d+\))\}$/;

/** Tokens that do not come from the emitter. Empty when the SQL is clean. */
export function foreignText(sql: string, schema: TableSchema, allowed: ReadonlySet<string> = new Set()): string[] {
  const foreign: string[] = [];
  let afterName = false;
  const tokens = tokenize(sql);
  for (const [i, token] of tokens.entries()) {
    const { kind, text, value } = token;
    if (kind === "parameter" && parameterTypes.test(text)) continue;
    if (kind === "string" && (texts.has(value) || text === "''")) continue;
    if (kind === "number" && /^(0[xX][\da-fA-F]+|[\d.]+([eE][+-]?\d+)?)$/.test(text)) continue;
    if (kind === "punctuation" && symbols.has(text)) continue;
    // A path inside a JSON column: quoted names joined by dots to a column's name.
    const path = kind === "quotedIdentifier" && afterName && tokens[i - 1]?.text === ".";
    if (kind === "quotedIdentifier" && (schema.columns.has(value) || path)) {
      afterName = true;
      continue;
    }
    if (kind === "word" && (words.has(text) || allowed.has(text) || /^e\d$/.test(text))) continue;
    foreign.push(text);
  }
  return foreign;
}
