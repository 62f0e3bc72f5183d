/** Reading a JSON body safely: size is limited by the server, nesting and NUL bytes here. */
import { AppError, type Issue } from "../lib/errors.ts";

const maxDepth = 32;

/** Parses a body. Throws INVALID_JSON or BAD_REQUEST; never a range error, however deep the nesting. */
export function parseJson(bytes: Buffer): unknown {
  const text = decodeUtf8(bytes);
  if (text.trim() === "") throw new AppError("INVALID_JSON", "The request body is empty; send a JSON document.");
  if (nesting(text) > maxDepth) {
    throw new AppError("BAD_REQUEST", `The request body is nested more than ${maxDepth} levels deep.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError("INVALID_JSON", `The request body is not valid JSON${position(cause)}.`, { cause });
  }
  const issues: Issue[] = [];
  findNul(value, [], issues);
  if (issues.length > 0) throw new AppError("BAD_REQUEST", "The request body holds NUL characters.", { issues });
  return value;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new AppError("INVALID_JSON", "The request body is not valid UTF-8.", { cause });
  }
}

/** Greatest depth of brackets outside strings; cheap, and safe on text that is not JSON. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
}

function findNul(value: unknown, path: readonly string[], issues: Issue[]): void {
  if (typeof value === "string") {
    if (value.includes("\0")) issues.push({ path: path.join("."), message: "must not contain NUL characters" });
  } else if (value !== null && typeof value === "object") {
    for (const [key, member] of Object.entries(value)) {
      if (key.includes("\0")) issues.push({ path: path.join("."), message: "has a member name with a NUL character" });
      findNul(member, [...path, key], issues);
    }
  }
}

function position(cause: unknown): string {
  const found = /position \d+(?: \(line \d+ column \d+\))?/.exec(cause instanceof Error ? cause.message : "");
  return found ? ` at ${found[0]}` : "";
}
