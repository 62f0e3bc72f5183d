/** The language of the service's engine, made of the engine's own lists of words. */
import { SQLDialect } from "@codemirror/lang-sql";
import type { EngineWords } from "./words.ts";

const made = new WeakMap<EngineWords, SQLDialect>();

/** The same words give the same dialect: an editor is not set up again. */
export function dialectOf(words: EngineWords): SQLDialect {
  const known = made.get(words);
  if (known !== undefined) return known;
  const functions = [...words.functions, ...words.tableFunctions].map(({ name }) => name);
  const dialect = SQLDialect.define({
    keywords: singleWords(words.keywords).join(" ").toLowerCase(),
    types: words.dataTypes.filter(isWord).join(" ").toLowerCase(),
    builtin: functions.filter(isWord).join(" ").toLowerCase(),
    backslashEscapes: true,
    hashComments: true,
    doubleQuotedStrings: false,
    identifierQuotes: '`"',
    operatorChars: "*+-%<>!=&|~^/?:",
    specialVar: "",
    slashComments: false,
    spaceAfterDashes: false,
  });
  made.set(words, dialect);
  return dialect;
}

/** The engine lists phrases, such as `ORDER BY`. */
export function singleWords(keywords: readonly string[]): string[] {
  return [...new Set(keywords.flatMap((phrase) => phrase.split(" ")))].filter(isWord);
}

function isWord(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text);
}
