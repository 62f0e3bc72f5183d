/**
 * Finds the statement of a request, which may be in the URL, in the body, in a form, or begin in one and continue in
 * another, and decides how the request is forwarded: with exactly the statement that was found.
 */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { mayBeAsync } from "../inserts/options.ts";
import { maxStatementBytes } from "../sql/rules/facts.ts";
import { maxSearchedBytes } from "../sql/text/values-data.ts";
import { BodyPrefix, canDecode } from "./body-prefix.ts";
import { readForm, writeForm } from "./multipart.ts";
import type { Parameter } from "./parameters.ts";

/** Bytes read before a body counts as long: shorter data is judged whole. */
const leastBytes = 65_536;

export type IncomingQuery = {
  /** The statement, followed by the insert data read so far. */
  readonly text: Buffer;
  /** False when more insert data follows. */
  readonly whole: boolean;
  /** Where the body begins in the text. */
  readonly bodyAt: number;
  /** Parameters of URL and form, without the statement. */
  readonly parameters: readonly Parameter[];
  /** How the request is forwarded. */
  readonly forwarded: {
    readonly parameters: readonly Parameter[];
    readonly headers: Readonly<Record<string, string>>;
    readonly first: readonly Buffer[];
    readonly rest: Readable | undefined;
  };
};

/** True when the text is an INSERT whose data has begun. */
export type HasData = (text: Buffer) => boolean;

/** Throws a ClickHouseException when there is no statement, or when it is too large, truncated or damaged. */
export async function readIncomingQuery(
  message: IncomingMessage,
  parameters: readonly Parameter[],
  hasData: HasData,
): Promise<IncomingQuery> {
  if (/^multipart\/form-data/i.test(message.headers["content-type"] ?? "")) return await fromForm(message, parameters);
  const inUrl = statementIn(parameters);
  const others = parameters.filter(([name]) => name !== "query");
  const bodyAt = inUrl.length === 0 ? 0 : inUrl.length + 1;
  const head = inUrl.length === 0 ? inUrl : Buffer.concat([inUrl, Buffer.from("\n")]);
  if (!mayHaveBody(message)) return bare(message, inUrl, others, parameters);
  const asItCame = { parameters, headers: bodyHeadersOf(message) };
  const isRead = isSmall(message, others) || mayBeValues(head) || (mayBeAsync(head, others) && canDecode(message));
  if (head.length > 0 && hasData(head) && !isRead) {
    const onward = { ...asItCame, first: [], rest: message };
    return { text: head, whole: false, bodyAt, parameters: others, forwarded: onward };
  }
  const prefix = new BodyPrefix(message, isCompressed(message, others));
  for (let wanted = leastBytes; !prefix.ended && prefix.bytes().length < maxStatementBytes; wanted += leastBytes) {
    await prefix.read(isSmall(message, others) ? maxStatementBytes : wanted);
    const text = Buffer.concat([head, prefix.bytes()]);
    if (prefix.ended || !hasData(text)) continue;
    if (mayBeValues(text) || mayBeAsync(text, others)) await prefix.read(maxSearchedBytes);
    if (prefix.ended) break;
    const onward = { ...asItCame, first: prefix.raw, rest: message };
    return { text, whole: false, bodyAt, parameters: others, forwarded: onward };
  }
  if (!prefix.ended) await prefix.read(maxStatementBytes + 1);
  if (!prefix.ended) {
    const text = `A statement may have at most ${maxStatementBytes} bytes; the data of an INSERT follows its format.`;
    throw clickHouseException("QUERY_IS_TOO_LARGE", text);
  }
  const text = Buffer.concat([head, prefix.bytes()]);
  // Decoded already: the engine reads exactly the bytes that were judged.
  const headers = { "content-length": String(prefix.bytes().length) };
  const plain = parameters.filter(([name]) => name !== "decompress");
  const onward = { parameters: plain, headers, first: [prefix.bytes()], rest: undefined };
  return { text, whole: true, bodyAt, parameters: others, forwarded: onward };
}

function bare(
  message: IncomingMessage,
  text: Buffer,
  others: readonly Parameter[],
  parameters: readonly Parameter[],
): IncomingQuery {
  const headers: Record<string, string> = message.method === "POST" ? { "content-length": "0" } : {};
  const forwarded = { parameters, headers, first: [], rest: undefined };
  return { text, whole: true, bodyAt: text.length, parameters: others, forwarded };
}

async function fromForm(message: IncomingMessage, parameters: readonly Parameter[]): Promise<IncomingQuery> {
  const form = await readForm(message);
  const all = [...parameters, ...form.fields];
  if (isCompressed(message, all)) {
    throw clickHouseException("BAD_ARGUMENTS", "A form cannot have decompress=1.");
  }
  const { type, body } = writeForm(form);
  const headers = { "content-type": type, "content-length": String(body.length) };
  return {
    text: statementIn(all),
    whole: true,
    bodyAt: 0,
    parameters: all.filter(([name]) => name !== "query"),
    forwarded: { parameters, headers, first: [body], rest: undefined },
  };
}

/** The statement in the parameters: all that are named `query`, concatenated as the engine does. */
function statementIn(parameters: readonly Parameter[]): Buffer {
  const found = parameters.filter(([name]) => name === "query").map(([, value]) => value);
  return Buffer.from(found.join(""), "latin1");
}

/** Data of VALUES may hold expressions, which must be judged: enough is read to include them. */
function mayBeValues(text: Buffer): boolean {
  return /\bvalues\b/i.test(text.toString("latin1", 0, leastBytes));
}

/** Small data is read whole, so that expressions in VALUES can be judged. */
function isSmall(message: IncomingMessage, parameters: readonly Parameter[]): boolean {
  return (
    isPlainBody(message, parameters) && Number(message.headers["content-length"] ?? Number.NaN) < maxStatementBytes
  );
}

/** True when the body is sent as it is. */
export function isPlainBody(message: IncomingMessage, parameters: readonly Parameter[]): boolean {
  return message.headers["content-encoding"] === undefined && !isCompressed(message, parameters);
}

function mayHaveBody(message: IncomingMessage): boolean {
  if (message.method === "GET" || message.method === "HEAD") return false;
  return message.headers["content-length"] !== "0";
}

/**
 * True when the body has the engine's compressed blocks. Both sides must see the same bytes, so whatever one of them
 * could interpret differently is refused: unusual values, repeated parameters, and blocks inside another encoding.
 */
function isCompressed(message: IncomingMessage, parameters: readonly Parameter[]): boolean {
  const [value, ...more] = parameters.filter(([name]) => name === "decompress").map(([, text]) => text);
  if (more.length > 0 || !/^(?:[01]|true|false)?$/.test(value ?? "")) {
    throw clickHouseException("BAD_ARGUMENTS", "The parameter decompress must be given once, as 0 or 1.");
  }
  const compressed = value === "1" || value === "true";
  const encoding = (message.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (compressed && encoding !== "identity" && encoding !== "") {
    throw clickHouseException("BAD_ARGUMENTS", "A body with decompress=1 cannot have a Content-Encoding as well.");
  }
  return compressed;
}

/**
 * The headers with which a body is forwarded as it came. Not the Content-Type: the engine looks only whether it is a
 * form, and this one is none.
 */
function bodyHeadersOf({ headers }: IncomingMessage): Record<string, string> {
  const { "content-encoding": encoding, "content-length": length } = headers;
  if (encoding !== undefined && !/^[a-z0-9-]*$/i.test(encoding)) {
    throw clickHouseException("BAD_ARGUMENTS", "The Content-Encoding must be the name of one encoding.");
  }
  return {
    ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    ...(length === undefined ? {} : { "content-length": length }),
  };
}
