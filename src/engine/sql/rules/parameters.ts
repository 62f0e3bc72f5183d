/**
 * Bound parameters. A parameter is a literal of its type, and literals are harmless: structures and settings take no
 * parameters (`table-function.ts`, `settings.ts`). Only type Identifier creates a name, and a name in an argument of a
 * function may be a function's.
 */
import { escapes } from "../text/quotes.ts";
import { isRefusedFunction } from "./calls.ts";
import type { Facts } from "./facts.ts";
import { refuse } from "./refusal.ts";
import { refuseFilePath } from "./table-names.ts";

/** Throws when a parameter, of this request or of the session, could name a function that is not available. */
export function judgeParameters(facts: Facts, params: readonly (readonly [string, string])[]): void {
  for (const value of facts.parameters) {
    judgeName(value);
    judgeTableName(value);
  }
  judgeTableParameters(facts, params);
  if (facts.identifiers.size === 0) return;
  // A view is defined now and receives its parameters later, when they are ordinary texts.
  if (facts.kind === "define") refuse("A definition cannot hold a parameter of type Identifier in an argument.");
  for (const [name, value] of params) if (facts.identifiers.has(name)) judgeName(value);
}

function judgeTableParameters(facts: Facts, params: readonly (readonly [string, string])[]): void {
  const { kind, nameParameters, tableParameters } = facts;
  if (kind === "define" && tableParameters.size > 0) {
    refuse("A definition cannot hold a parameter that names a table or a dictionary.");
  }
  for (const [name, value] of params) {
    if (nameParameters.has(name) || tableParameters.has(name)) judgeTableName(value);
  }
}

function judgeTableName(value: string): void {
  refuseFilePath(unescapeParameter(value));
  refuseFilePath(value);
}

function judgeName(value: string): void {
  const name = unescapeParameter(value);
  if (isRefusedFunction(name) || isRefusedFunction(value)) refuse(`Function ${name} is not available.`);
}

/** Values of parameters are escaped as in TSV (`readEscapedString` of the engine). */
export function unescapeParameter(value: string): string {
  return value.replace(/\\(?:x([0-9A-Fa-f]{2})|([\s\S]))/g, (_, hex: string | undefined, char: string | undefined) =>
    hex === undefined ? (escapes[char as string] ?? (char as string)) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
