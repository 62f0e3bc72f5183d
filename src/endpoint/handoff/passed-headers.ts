/** Request headers that matter to a ClickHouse server. No others are passed on, especially no credentials. */
import type { IncomingHttpHeaders } from "node:http";

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

/** Those of the headers that a server may see; `more` names others, such as those of the body where it is passed on. */
export function passedHeadersOf(headers: IncomingHttpHeaders, more: readonly string[] = []): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of [...passedHeaders, ...more]) {
    const value = headers[name];
    if (typeof value === "string") passed[name] = value;
  }
  return passed;
}
