/**
 * URL parameters as bytes: what is judged here is written anew for the engine, so that both sides read the same. A
 * value is a byte string: every character is one byte.
 */
import { clickHouseException } from "../../clickhouse/exception.ts";

/** The engine's http_max_uri_size. */
const maxPathBytes = 1_048_576;

export type Parameter = readonly [name: string, value: string];

/** Parameters that the query service does not forward: the login. */
const loginParameters: ReadonlySet<string> = new Set(["user", "password"]);

/** Parses the text after the `?`. Throws BAD_ARGUMENTS for a broken escape. */
export function readParameters(search: string): Parameter[] {
  return search
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
    })
    .filter(([name]) => !loginParameters.has(name as string)) as unknown as Parameter[];
}

/** Writes parameters for a URL, with everything but letters, digits and `-._~` escaped. */
export function writeParameters(parameters: readonly Parameter[]): string {
  return parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
}

/** The engine library may end when it refuses the head of a request whose client has gone: it gets none to refuse. */
export function pathWith(parameters: readonly Parameter[]): string {
  const path = `/?${writeParameters(parameters)}`;
  if (path.length <= maxPathBytes) return path;
  const text = `The URL has more than ${maxPathBytes} bytes with its parameters escaped. Send the statement in the body.`;
  throw clickHouseException("QUERY_IS_TOO_LARGE", text);
}

/** Decodes a byte string as UTF-8. */
export function textOf(bytes: string): string {
  return /^[\x00-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, "latin1").toString();
}

/** Encodes a text as a UTF-8 byte string. */
export function bytesOf(text: string): string {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

function decode(escaped: string): string {
  const spaced = escaped.replaceAll("+", " ");
  if (!spaced.includes("%")) return bytesOf(spaced);
  return bytesOf(spaced).replace(/%(..)?/gs, (_, digits: string | undefined) => {
    if (digits === undefined || !/^[0-9A-Fa-f]{2}$/.test(digits)) {
      throw clickHouseException("BAD_ARGUMENTS", "The URL has a % that two hexadecimal digits do not follow.");
    }
    return String.fromCharCode(Number.parseInt(digits, 16));
  });
}

function encode(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9\-._~]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
