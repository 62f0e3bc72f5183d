/** The language of the service's engine, made of the engine's own lists of words. */
import { StreamLanguage, type StringStream } from "@codemirror/language";
import { endsOf, lineComment, type OpaqueStart } from "./lexer.ts";
import type { EngineWords } from "./words.ts";

/** Names of highlighting tags. */
type Token = "keyword" | "typeName" | "variableName.standard" | "bool" | "null";
type Words = {
  readonly tokens: ReadonlyMap<string, Token>;
  /** `no delay`: words that are keywords only behind another one, and names of columns elsewhere. */
  readonly pairs: ReadonlySet<string>;
};
type State = {
  /** What the line before has left open. */
  open: OpaqueStart | undefined;
  /** The word before the present one, in lower case; empty after anything else. */
  before: string;
};

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
  const before = made.get(words);
  if (before !== undefined) return before;
  const known = wordsOf(words);
  const language = StreamLanguage.define<State>({
    name: "clickhouse",
    startState: () => ({ open: undefined, before: "" }),
    copyState: (state) => ({ ...state }),
    token: (stream, state) => tokenOf(stream, state, known),
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

function wordsOf({ keywords, dataTypes, functions, tableFunctions }: EngineWords): Words {
  const phrases = keywords.map((phrase) => phrase.toLowerCase().split(" "));
  const all = (names: readonly string[], token: Token) =>
    names.filter(isWord).map((name) => [name.toLowerCase(), token] as const);
  const tokens = new Map([
    ...all(
      [...functions, ...tableFunctions].map(({ name }) => name),
      "variableName.standard",
    ),
    ...all(dataTypes, "typeName"),
    // Single letters are units of intervals, and far more often names of columns.
    ...all(
      phrases.map(([first = ""]) => first).filter(({ length }) => length > 1),
      "keyword",
    ),
    ...all(["true", "false"], "bool"),
    ...all(["null"], "null"),
  ]);
  const pairs = phrases.flatMap((phrase) => phrase.slice(1).map((word, at) => `${phrase[at]} ${word}`));
  return { tokens, pairs: new Set(pairs) };
}

function tokenOf(stream: StringStream, state: State, words: Words): string | null {
  if (state.open === undefined) {
    if (stream.eatSpace()) return null;
    const { before } = state;
    state.before = "";
    if (stream.match(lineCommentHere)) return "comment";
    const opening = stream.match(/^(?:['"`]|\/\*)/) as RegExpMatchArray | null;
    if (opening === null) {
      state.before = wordAt(stream);
      return plainTokenOf(stream, before, words);
    }
    state.open = opening[0] as OpaqueStart;
  }
  const token = tokenOfOpaque[state.open];
  if (stream.match(endsHere[state.open])) state.open = undefined;
  else stream.skipToEnd();
  return token;
}

/** In lower case; empty when there is none. */
function wordAt(stream: StringStream): string {
  const word = stream.match(/^[A-Za-z_]\w*/, false) as RegExpMatchArray | null;
  return word?.[0].toLowerCase() ?? "";
}

function plainTokenOf(stream: StringStream, before: string, { tokens, pairs }: Words): string | null {
  const word = wordAt(stream);
  if (word !== "") {
    stream.pos += word.length;
    return tokens.get(word) ?? (pairs.has(`${before} ${word}`) ? "keyword" : null);
  }
  if (stream.match(/^(?:0x[\da-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)/i)) return "number";
  return /[*+\-%<>!=&|~^/?:]/.test(stream.next() ?? "") ? "operator" : null;
}
