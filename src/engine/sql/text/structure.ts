/**
 * The structure of a table as a text, `a String, b Array(UInt8)`: only names and types. The engine reads such a text
 * with its parser of column lists, in which DEFAULT, ALIAS, MATERIALIZED, EPHEMERAL and TTL hold expressions that no
 * other rule would see.
 */

/** Words, numbers, quotes without escapes, and the few marks of types. They cannot form a comment. */
const pieces =
  /[ \t\n\r\f\v]*(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?)|('[^'\\]*')|([`"][^`"\\]*[`"])|([(),=.]|-(?!-)))/y;

/** Bytes of a structure; longer ones are refused. */
const maxLength = 65_536;
const maxDepth = 32;

type Piece = { readonly kind: "word" | "number" | "string" | "quoted" | "mark"; readonly text: string };

/** The error of a structure; undefined when it is a plain list of names and types. */
export function structureProblem(text: string): string | undefined {
  if (text.length > maxLength) return "is too long";
  const list = readPieces(text.trimEnd());
  if (list === undefined) return "may hold names, types, numbers and simple quotes only";
  for (let at = 0; ; at += 1) {
    const name = list[at];
    if (name?.kind !== "word" && name?.kind !== "quoted") return "is not a list of names and types";
    const end = readType(list, at + 1, 0);
    if (end === undefined) return `has no plain type for column ${name.text}`;
    at = readNullability(list, end);
    if (at === list.length) return undefined;
    if (list[at]?.text !== ",") return `may not hold ${list[at]?.text}`;
  }
}

function readPieces(text: string): Piece[] | undefined {
  const list: Piece[] = [];
  pieces.lastIndex = 0;
  for (let at = 0; at < text.length; at = pieces.lastIndex) {
    const found = pieces.exec(text);
    if (found === null) return undefined;
    const [, word, number, string, quoted, mark] = found;
    if (word !== undefined) list.push({ kind: "word", text: word });
    else if (number !== undefined) list.push({ kind: "number", text: number });
    else if (string !== undefined) list.push({ kind: "string", text: string });
    else if (quoted !== undefined) list.push({ kind: "quoted", text: quoted });
    else list.push({ kind: "mark", text: mark as string });
  }
  return list;
}

/** `NULL` and `NOT NULL` after a type. */
function readNullability(list: readonly Piece[], at: number): number {
  if (/^NULL$/i.test(list[at]?.text ?? "")) return at + 1;
  return /^NOT$/i.test(list[at]?.text ?? "") && /^NULL$/i.test(list[at + 1]?.text ?? "") ? at + 2 : at;
}

/** Reads `Name` or `Name(argument, ...)`; returns the index after it. */
function readType(list: readonly Piece[], at: number, depth: number): number | undefined {
  if (depth > maxDepth || list[at]?.kind !== "word" || isReserved(list[at] as Piece)) return undefined;
  if (list[at + 1]?.text !== "(") return at + 1;
  if (list[at + 2]?.text === ")") return at + 3;
  for (let next = at + 2; ; ) {
    const end = readArgument(list, next, depth);
    if (end === undefined) return undefined;
    if (list[end]?.text === ")") return end + 1;
    if (list[end]?.text !== ",") return undefined;
    next = end + 1;
  }
}

/** A type, `name Type`, a number, a string, `'name' = number`, `name = number`, `SKIP path`. */
function readArgument(list: readonly Piece[], at: number, depth: number): number | undefined {
  const first = list[at];
  const second = list[at + 1];
  if (first === undefined) return undefined;
  if (first.kind === "string" || (first.kind === "word" && second?.text === "=")) {
    return second?.text === "=" ? readNumber(list, at + 2) : at + 1;
  }
  if (first.kind === "number" || first.text === "-") return readNumber(list, at);
  if (first.text === "SKIP")
    return second?.text === "REGEXP" && list[at + 2]?.kind === "string" ? at + 3 : readPath(list, at + 1);
  const path = readPath(list, at);
  const named = path !== undefined && list[path]?.kind === "word";
  return readType(list, named ? (path as number) : at, depth + 1);
}

/** `a` or `a.b.c`, the path of a typed member of JSON. */
function readPath(list: readonly Piece[], at: number): number | undefined {
  if (list[at]?.kind !== "word" && list[at]?.kind !== "quoted") return undefined;
  return list[at + 1]?.text === "." ? readPath(list, at + 2) : at + 1;
}

function readNumber(list: readonly Piece[], at: number): number | undefined {
  const behindSign = list[at]?.text === "-" ? at + 1 : at;
  return list[behindSign]?.kind === "number" ? behindSign + 1 : undefined;
}

/** Words that begin a clause after a column's name. */
function isReserved(piece: Piece): boolean {
  return /^(?:DEFAULT|ALIAS|MATERIALIZED|EPHEMERAL|TTL|CODEC|CHECK|ASSUME|PRIMARY|COLLATE|COMMENT|STATISTICS|SETTINGS)$/i.test(
    piece.text,
  );
}
