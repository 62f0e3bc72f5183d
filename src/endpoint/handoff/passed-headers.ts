/** Request headers that matter to a ClickHouse server. No others are passed on, especially no credentials. */
import type { IncomingHttpHeaders } from "node:http";
import { clickHouseException } from "../../clickhouse/exception.ts";

const passedHeaders = [
  "accept-encoding",
  "user-agent",
  "origin",
  "referer",
  "x-clickhouse-database",
  "x-clickhouse-format",
  "x-clickhouse-quota",
  "traceparent",
  "tracestate",
] as const;

/** Headers of a body that is passed on as it is. */
export const bodyHeaders = ["content-encoding", "content-length", "content-type"] as const;

/** Headers that a server only records. An address in them may hold `=?` without being an encoded word. */
const recordedHeaders: ReadonlySet<string> = new Set(["user-agent", "referer", "traceparent", "tracestate"]);

/** The trace context of a request, for a statement that is not passed on as it came. */
export function traceHeadersOf({ traceparent, tracestate }: IncomingHttpHeaders): Record<string, string> {
  if (typeof traceparent !== "string") return {};
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}

/**
 * The same headers with a body, unchanged, for another process of Millrace, which judges them by `passedHeadersOf`.
 * Every way from a client to an engine passes the headers of one list.
 */
export function forwardedHeadersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const names = [...passedHeaders, ...bodyHeaders];
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

/** The default of a server's http_max_field_value_size. */
const maxValueBytes = 131_072;

/**
 * Those of the headers that a server may see; `more` names others, such as those of the body where it is passed on.
 * Throws BAD_ARGUMENTS for a value that the server would not read as it is written; a header that it would only record
 * is left out then.
 */
export function passedHeadersOf(headers: IncomingHttpHeaders, more: readonly string[] = []): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of [...passedHeaders, ...more]) {
    const value = headers[name];
    if (typeof value !== "string") continue;
    if (recordedHeaders.has(name) && value.includes("=?")) continue;
    refuseEncodedWords(name, value);
    if (value.length > maxValueBytes) {
      throw clickHouseException("BAD_ARGUMENTS", `The header ${name} has more than ${maxValueBytes} bytes.`);
    }
    passed[name] = value;
  }
  return passed;
}

/**
 * A ClickHouse server decodes encoded words (RFC 2047, `=?charset?encoding?text?=`) in every header. A Content-Type
 * that is a form only to the server would have it read a statement from what was judged as a comment.
 */
function refuseEncodedWords(name: string, value: string): void {
  if (!value.includes("=?")) return;
  const text = `The header ${name} has an encoded word (=?...?=). Send the text itself.`;
  throw clickHouseException("BAD_ARGUMENTS", text);
}
