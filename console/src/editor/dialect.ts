/** The language of the service's engine, made of the engine's own lists of words. */
import { StreamLanguage, type StringStream } from "@codemirror/language";
import { endsOf, lineComment, type OpaqueStart } from "./lexer.ts";
import type { EngineWords } from "./words.ts";

/** Names of highlighting tags. */
type Token = "keyword" | "typeName" | "variableName.standard" | "bool" | "null";
type Words = ReadonlyMap<string, Token>;
/** What the line before has left open. */
type State = { open: OpaqueStart | undefined };

const tokenOfOpaque = { "'": "string", '"': "string.special", "`": "string.special", "/*": "comment" } as const;

/** A stream matches at its position with a pattern for the beginning. */
const atBeginning = ({ source }: RegExp) => new RegExp(`^(?:${source})`);
const lineCommentHere = atBeginning(lineComment);
const endsHere = {
  "'": atBeginning(endsOf["'"]),
  '"': atBeginning(endsOf['"']),
  "`": atBeginning(endsOf["`"]),
  "/*": atBeginning(endsOf["/*"]),
};

const made = new WeakMap<EngineWords, StreamLanguage<State>>();

/** The same words give the same language: an editor is not set up again. */
export function dialectOf(words: EngineWords): StreamLanguage<State> {
  const known = made.get(words);
  if (known !== undefined) return known;
  const tokens = tokensOf(words);
  const language = StreamLanguage.define<State>({
    name: "clickhouse",
    startState: () => ({ open: undefined }),
    copyState: ({ open }) => ({ open }),
    token: (stream, state) => tokenOf(stream, state, tokens),
    languageData: {
      commentTokens: { line: "--", block: { open: "/*", close: "*/" } },
    },
  });
  made.set(words, language);
  return language;
}

/** The engine lists phrases, such as `ORDER BY`. */
export function singleWords(keywords: readonly string[]): string[] {
  return [...new Set(keywords.flatMap((phrase) => phrase.split(" ")))].filter(isWord);
}

function isWord(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text);
}

function tokensOf({ keywords, dataTypes, functions, tableFunctions }: EngineWords): Words {
  const all = (names: readonly string[], token: Token) =>
    names.filter(isWord).map((name) => [name.toLowerCase(), token] as const);
  return new Map([
    ...all(
      [...functions, ...tableFunctions].map(({ name }) => name),
      "variableName.standard",
    ),
    ...all(dataTypes, "typeName"),
    // Single letters are units of intervals, and far more often names of columns.
    ...all(
      singleWords(keywords).filter(({ length }) => length > 1),
      "keyword",
    ),
    ...all(["true", "false"], "bool"),
    ...all(["null"], "null"),
  ]);
}

function tokenOf(stream: StringStream, state: State, words: Words): string | null {
  if (state.open === undefined) {
    if (stream.eatSpace()) return null;
    if (stream.match(lineCommentHere)) return "comment";
    const opening = stream.match(/^(?:['"`]|\/\*)/) as RegExpMatchArray | null;
    if (opening === null) return plainTokenOf(stream, words);
    state.open = opening[0] as OpaqueStart;
  }
  const token = tokenOfOpaque[state.open];
  if (stream.match(endsHere[state.open])) state.open = undefined;
  else stream.skipToEnd();
  return token;
}

function plainTokenOf(stream: StringStream, words: Words): string | null {
  if (stream.match(/^(?:0x[\da-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)/i)) return "number";
  const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
  if (word !== null) return words.get(word[0].toLowerCase()) ?? null;
  return /[*+\-%<>!=&|~^/?:]/.test(stream.next() ?? "") ? "operator" : null;
}
