/** Applications with the SDKs of OpenTelemetry: their environment variables are all that has to be set. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../harness/network/free-port.ts";
import { javaSender, nodeSender, pythonSender, type Sender } from "../../../harness/push/sdks.ts";
import { telemetryPipe } from "../../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve, untilText } from "../../../harness/serve.ts";

const senders: Readonly<Record<string, Sender | undefined>> = {
  Node: await nodeSender().catch((error: Error) => skipped("Node", error)),
  Python: await pythonSender().catch((error: Error) => skipped("Python", error)),
  Java: await javaSender().catch((error: Error) => skipped("Java", error)),
};

function skipped(name: string, { message }: Error): undefined {
  console.warn(`skipped: the SDK for ${name} cannot be installed: ${message.split("\n").at(-1)}`);
}

const otlpPort = await freePort();
const spans = 700;
let served: Served;
let service: BenchService;

beforeAll(async () => {
  served = await serve({ env: { MILLRACE_OTLP_PORT: String(otlpPort) } });
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => await served?.[Symbol.asyncDispose]());

test.each(
  Object.keys(senders).flatMap((name) => ["http/protobuf", "grpc"].map((protocol) => [name, protocol] as const)),
)("the SDK for %s sends all signals over %s", async (name, protocol) => {
  const sender = senders[name];
  if (sender === undefined) return;
  const database = `sdk_${name}_${protocol.replace("/", "_")}`;
  const to = await telemetryPipe(served, service, database);
  await sender.send(spans, {
    OTEL_EXPORTER_OTLP_ENDPOINT: protocol === "grpc" ? `http://127.0.0.1:${otlpPort}` : to.url,
    // A space is written as %20 in this variable.
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${to.key.replace(" ", "%20")}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_SERVICE_NAME: "shop",
  });
  const of = (columns: string, table: string) => () => query(service, `SELECT ${columns} FROM ${database}.${table}`);
  const counted = "(count(), uniqExact(SpanId), any(ServiceName), sum(toUInt64(SpanAttributes['id'])))";
  await untilText("spans", `(${spans},${spans},'shop',${(spans * (spans - 1)) / 2})`, of(counted, "otel_traces"));
  await untilText("a log", "('hello','shop')", of("(Body, ServiceName)", "otel_logs WHERE Body = 'hello'"));
  await untilText(
    "a metric",
    "(3,{'color':'red'})",
    of("(Value, Attributes)", "otel_metrics_sum WHERE MetricName = 'orders'"),
  );
  expect(await of("count()", "otel_traces_trace_id_ts")()).toBe(String(spans));
});
