/**
 * Finds where the data of an INSERT begins. The engine reads a statement from the left and stops after `FORMAT name` or
 * `VALUES`; the rest is data. A candidate is found in the plain beginning of the text, and the guard accepts it only
 * when the engine's canonical text of that beginning is an INSERT with exactly this format.
 */
import { plainTokenAt } from "./plain-text.ts";
import type { SqlToken } from "./tokens.ts";

export type InsertHead = {
  /** End of `FORMAT name` or of `VALUES`, in bytes. */
  readonly headEnd: number;
  /** Offset of the first byte of data, as the engine counts. */
  readonly dataStart: number;
  readonly format: string;
  /** True for INSERT ... SELECT ... FORMAT, whose data is what `input()` reads. */
  readonly selects: boolean;
};

/** More tokens than the head of an INSERT has. */
const maxTokens = 20_000;

/** The candidate heads of the text, shortest first; none when it is not an INSERT or not plain. */
export function* insertHeads(text: string): Generator<InsertHead> {
  let previous: SqlToken | undefined;
  let depth = 0;
  let selects = false;
  let at = 0;
  for (let count = 0; count < maxTokens; count += 1) {
    const token = plainTokenAt(text, at);
    if (token === undefined || token === "odd") return;
    const word = token.kind === "word" ? token.value.toUpperCase() : "";
    if (count === 0 && word !== "INSERT") return;
    if (token.value === "(" && token.kind === "mark") depth += 1;
    if (token.value === ")" && token.kind === "mark") depth -= 1;
    if (depth === 0 && (word === "SELECT" || word === "WITH")) selects = true;
    const head = depth === 0 && !isTableName(previous) ? headAt(text, token, word, selects) : undefined;
    if (head !== undefined) yield head;
    previous = token;
    at = token.end;
  }
}

/** A word after INTO, TABLE or a dot is a table name. */
function isTableName(previous: SqlToken | undefined): boolean {
  return previous?.value === "." || /^(?:INTO|TABLE)$/i.test(previous?.value ?? "");
}

function headAt(text: string, token: SqlToken, word: string, selects: boolean): InsertHead | undefined {
  if (word === "VALUES" && !selects) return { headEnd: token.end, dataStart: token.end, format: "Values", selects };
  if (word !== "FORMAT") return undefined;
  const name = plainTokenAt(text, token.end);
  if (name === undefined || name === "odd" || (name.kind !== "word" && name.kind !== "quoted")) return undefined;
  // A name that may continue has not ended yet.
  if (/[A-Za-z0-9_$]/.test(text[name.end] ?? " ")) return undefined;
  return { headEnd: name.end, dataStart: skipToData(text, name.end), format: name.value, selects };
}

/** Spaces and tabs, then one line break, do not belong to the data (`ParserInsertQuery` of the engine). */
function skipToData(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\f") at += 1;
  if (text[at] === "\r") at += 1;
  if (text[at] === "\n") at += 1;
  return at;
}
