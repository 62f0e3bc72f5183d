/** A position in the tokens of a canonical text, for statements that are read from left to right. */
import { refuse } from "../rules/refusal.ts";
import { isMark, isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";

/** Names that are elements of the engine's users file and differ from those of our own users. */
const availableName = /^(?!millrace-)(?!default$)[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Words that stand for several users or for the caller, where a name is expected. */
const notNames = new Set(["ALL", "ANY", "NONE", "CURRENT_USER"]);

export class TokenReader {
  readonly #tokens: readonly SqlToken[];
  readonly #bound: (parameter: string) => string;
  #at = 0;

  /** `bound`: the value of a parameter of the type String, latin1. */
  constructor(tokens: readonly SqlToken[], bound: (parameter: string) => string) {
    this.#tokens = tokens;
    this.#bound = bound;
  }

  get ended(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** The next words as they are written, for a refusal; never a text in quotes. */
  next(): string {
    const words = this.#tokens.slice(this.#at, this.#at + 3).filter(({ kind }) => kind === "word" || kind === "quoted");
    return words.length === 0 ? "The rest of the statement" : words.map(({ value }) => value).join(" ");
  }

  /** Skips these unquoted words, if they are next. */
  skip(words: string): boolean {
    const wanted = words.split(" ");
    const isNext = wanted.every((word, i) => {
      const token = this.#tokens[this.#at + i];
      return token?.kind === "word" && token.value === word;
    });
    if (isNext) this.#at += wanted.length;
    return isNext;
  }

  /** True when this unquoted word is next. */
  isAt(word: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === "word" && token.value === word;
  }

  skipMark(mark: string): boolean {
    const isNext = isMark(this.#tokens[this.#at], mark);
    if (isNext) this.#at += 1;
    return isNext;
  }

  /** True when the next token follows the one before it without a space. */
  get isAdjacent(): boolean {
    return this.#tokens[this.#at - 1]?.end === this.#tokens[this.#at]?.start;
  }

  /** The next unquoted word, which is consumed; undefined when there is none. */
  word(): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "word") return undefined;
    this.#at += 1;
    return token.value;
  }

  /** A name, decoded. `what` names it for the refusal. */
  name(what: string): string {
    const token = this.#tokens[this.#at];
    if (token?.kind === "parameter") refuse(`Write ${what} out: it cannot be a parameter here.`);
    if (!isName(token)) refuse(`${capital(what)} is not readable.`);
    this.#at += 1;
    return decoded(token.value, what);
  }

  /** Names of users or roles that exist, separated by commas. */
  names(): string[] {
    const names: string[] = [];
    do {
      const token = this.#tokens[this.#at];
      if (token?.kind === "word" && notNames.has(token.value)) {
        refuse(`${token.value} is not available here: write the names out.`);
      }
      names.push(this.#userName());
    } while (this.skipMark(","));
    if (names.includes("default")) refuse("Statements cannot change the user default: it has all rights.");
    return [...new Set(names)];
  }

  /** The name of a user may also be a text in quotes. */
  #userName(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "string") return this.name("the name");
    this.#at += 1;
    return decoded(token.value, "the name");
  }

  /** The same for names that may be new. */
  newNames(kind: "user" | "role"): string[] {
    const names = this.names();
    for (const name of names) {
      if (availableName.test(name)) continue;
      refuse(
        `The name of a ${kind} must have at most 64 letters, digits, '_' and '-', begin with a letter or '_', ` +
          `and not with 'millrace-': \`${name}\` does not.`,
      );
    }
    return names;
  }

  /** A text in quotes or a parameter, latin1. */
  text(what: string): string {
    const token = this.#tokens[this.#at];
    const isBound = token?.kind === "parameter" && token.type === "String";
    if (token?.kind !== "string" && !isBound) refuse(`Write ${what} as a text in quotes, or as {name:String}.`);
    this.#at += 1;
    return isBound ? this.#bound(token.value) : token.value;
  }

  /** Refuses what is next, by name. */
  unavailable(): never {
    refuse(`${this.next()} is not available here.`);
  }

  /** Refuses what is left. */
  end(): void {
    if (!this.ended) this.unavailable();
  }
}

/** Tokens are latin1: one character is one byte. */
function decoded(bytes: string, what: string): string {
  const text = Buffer.from(bytes, "latin1").toString("utf8");
  if (/[\0-\x1f\x7f\ufffd]/.test(text)) refuse(`${capital(what)} has control characters or is not UTF-8.`);
  return text;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
