/** Parses a JSON body safely: the server limits its size, this file nesting and characters that cannot be stored. */
import type { FastifyRequest } from "fastify";
import { AppError, type Issue } from "../../lib/errors.ts";

const maxDepth = 32;
/** Each value costs more than its few bytes: a schema takes microseconds for each, in one turn of the loop. */
const maxValues = 30_000;
const maxIssues = 20;

/** What is asked for in a body that nobody reads would be left out without a word. */
export function refuseBody({ body }: FastifyRequest): void {
  if (body === undefined || ["", "{}", "null"].includes(String(body).trim())) return;
  throw new AppError("BAD_REQUEST", "This operation takes no body; send none, or {}.");
}

/** The parsed body; throws for an empty one. */
export function readBody(request: FastifyRequest): unknown {
  if (request.body === undefined) {
    if (request.headers["content-type"] === undefined && Number(request.headers["content-length"] ?? 0) > 0) {
      throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the body with Content-Type: application/json.");
    }
    throw new AppError("INVALID_JSON", "The request body is empty; send a JSON document.");
  }
  return parseJson(request.body as Buffer);
}

/** Parses a body. Throws INVALID_JSON or BAD_REQUEST; never a RangeError, however deep the nesting. */
export function parseJson(bytes: Buffer): unknown {
  const text = decodeUtf8(bytes);
  if (text.trim() === "") throw new AppError("INVALID_JSON", "The request body is empty; send a JSON document.");
  const { deepest, values } = extent(text);
  if (deepest > maxDepth) {
    throw new AppError("BAD_REQUEST", `The request body is nested more than ${maxDepth} levels deep.`);
  }
  if (values > maxValues) {
    throw new AppError("BAD_REQUEST", `The request body holds more than ${maxValues} values.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError("INVALID_JSON", `The request body is not valid JSON${position(cause)}.`, { cause });
  }
  // JSON can express both only in this way, so most documents need no walk.
  const issues: Issue[] = [];
  if (/\\u(?:0000|d[89a-f])/i.test(text)) findUnstorable(value, [], issues);
  if (issues.length > 0) {
    throw new AppError("BAD_REQUEST", "The request body holds characters that cannot be stored.", { issues });
  }
  return value;
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new AppError("INVALID_JSON", "The request body is not valid UTF-8.", { cause });
  }
}

/** Maximum depth of brackets and an estimate of the number of values; cheap, and safe on text that is not JSON. */
function extent(text: string): { readonly deepest: number; readonly values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    else if (code === 0x2c) values += 1;
  }
  return { deepest, values };
}

/** A surrogate without its other half has no form in UTF-8: the store would keep another text. */
function problemOf(text: string): string | undefined {
  if (text.includes("\0")) return "NUL characters";
  return text.isWellFormed() ? undefined : "half of a surrogate pair";
}

/** Collects at most `maxIssues` members with such text. `path` is the value's path, and is unchanged on return. */
function findUnstorable(value: unknown, path: string[], issues: Issue[]): void {
  if (issues.length >= maxIssues) return;
  if (typeof value === "string") {
    const problem = problemOf(value);
    if (problem !== undefined) issues.push({ path: path.join("."), message: `must not contain ${problem}` });
  } else if (value !== null && typeof value === "object") {
    for (const key in value) {
      const problem = problemOf(key);
      if (problem !== undefined) issues.push({ path: path.join("."), message: `has a member name with ${problem}` });
      path.push(key);
      findUnstorable(value[key as keyof typeof value], path, issues);
      path.pop();
    }
  }
}

function position(cause: unknown): string {
  const found = /position \d+(?: \(line \d+ column \d+\))?/.exec(cause instanceof Error ? cause.message : "");
  return found ? ` at ${found[0]}` : "";
}
