/** Pipes of OpenTelemetry, and telemetry for them. */
import { createPipe, untilState } from "../pipes.ts";
import type { BenchService, Served } from "../serve.ts";
import { addressOf, type PushAddress } from "./pipes.ts";

/** A pipe with its tables in a database of its own, and a key that may only push to it. */
export async function telemetryPipe(
  served: Served,
  service: BenchService,
  database: string,
  { source = {}, key = {} }: { readonly source?: object; readonly key?: object } = {},
): Promise<PushAddress> {
  const pipeId = await createPipe(served, service, {
    name: `telemetry of ${database}`,
    source: { push: { format: "otlp", ...source } },
    destination: { database },
    settings: { streaming_max_insert_wait_ms: 500 },
  } as never);
  await untilState(served, service, pipeId, "Running");
  return await addressOf(served, pipeId, key);
}

export type Signal = "traces" | "metrics" | "logs";

export async function exportJson(
  to: PushAddress,
  signal: Signal,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${to.url}/v1/${signal}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: to.key, "content-type": "application/json", ...headers },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Record<string, unknown> };
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const resource = { attributes: [text("service.name", "shop"), text("host.name", "h1")] };
const scope = { name: "library", version: "1.2", attributes: [text("scoped", "yes")], droppedAttributesCount: 3 };

/** A request with these records, of one resource and scope. */
export function tracesOf(spans: readonly object[]): object {
  return {
    resourceSpans: [{ resource, schemaUrl: "https://r", scopeSpans: [{ scope, schemaUrl: "https://s", spans }] }],
  };
}

export function logsOf(logRecords: readonly object[]): object {
  return {
    resourceLogs: [{ resource, schemaUrl: "https://r", scopeLogs: [{ scope, schemaUrl: "https://s", logRecords }] }],
  };
}

export function metricsOf(metrics: readonly object[]): object {
  return {
    resourceMetrics: [{ resource, schemaUrl: "https://r", scopeMetrics: [{ scope, schemaUrl: "https://s", metrics }] }],
  };
}

/** Nanoseconds of a second of the present hour. */
export function nanos(second: number, fraction = "000000000"): string {
  return `${Math.floor(Date.now() / 3_600_000) * 3_600 + second}${fraction}`;
}

/** A span with everything that a span can have. */
export function spanOf(id: number): object {
  return {
    traceId: id.toString(16).padStart(32, "0"),
    spanId: id.toString(16).padStart(16, "0"),
    parentSpanId: "00000000000000ff",
    traceState: "a=b",
    name: `GET /${id}`,
    kind: 2,
    startTimeUnixNano: nanos(1, "000000001"),
    endTimeUnixNano: nanos(2, "000000003"),
    attributes: [
      text("zebra", "last"),
      { key: "count", value: { intValue: "-9007199254740993" } },
      { key: "share", value: { doubleValue: 0.25 } },
      { key: "is", value: { boolValue: true } },
      { key: "raw", value: { bytesValue: "AQID" } },
      { key: "list", value: { arrayValue: { values: [{ stringValue: "<a>" }, { intValue: 2 }, {}] } } },
      { key: "map", value: { kvlistValue: { values: [text("b", "2"), text("a", "1")] } } },
    ],
    events: [{ timeUnixNano: nanos(1, "500000000"), name: "exception", attributes: [text("message", "no")] }],
    links: [{ traceId: "ab".repeat(16), spanId: "cd".repeat(8), traceState: "c=d", attributes: [text("l", "1")] }],
    status: { code: 2, message: "failed" },
  };
}
