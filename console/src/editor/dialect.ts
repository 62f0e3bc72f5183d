/** The language of the service's engine, made of the engine's own lists of words. */
import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { EngineWords } from "./words.ts";

/** Names of highlighting tags. */
type Token = "keyword" | "typeName" | "variableName.standard" | "bool" | "null";
type Words = ReadonlyMap<string, Token>;
/** What the line before has left open. */
type State = { open: keyof typeof ends | undefined };

const ends = {
  "'": { end: /^(?:[^'\\]|\\[\s\S]|'')*'/, token: "string" },
  '"': { end: /^(?:[^"\\]|\\[\s\S]|"")*"/, token: "string.special" },
  "`": { end: /^(?:[^`\\]|\\[\s\S]|``)*`/, token: "string.special" },
  "/*": { end: /^.*?\*\//, token: "comment" },
} as const;

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
      closeBrackets: { brackets: ["(", "[", "{", "'", '"', "`"] },
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
    if (stream.match(/^(?:--|#[ !]).*/)) return "comment";
    const opening = stream.match(/^(?:['"`]|\/\*)/) as RegExpMatchArray | null;
    if (opening === null) return plainTokenOf(stream, words);
    state.open = opening[0] as keyof typeof ends;
  }
  const { end, token } = ends[state.open];
  if (stream.match(end)) state.open = undefined;
  else stream.skipToEnd();
  return token;
}

function plainTokenOf(stream: StringStream, words: Words): string | null {
  if (stream.match(/^(?:0x[\da-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)/i)) return "number";
  const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
  if (word !== null) return words.get(word[0].toLowerCase()) ?? null;
  return /[*+\-%<>!=&|~^/?:]/.test(stream.next() ?? "") ? "operator" : null;
}
