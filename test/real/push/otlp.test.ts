/** OpenTelemetry that applications send, with a real engine. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import type { PushAddress } from "../../../harness/push/pipes.ts";
import {
  exportJson,
  logsOf,
  metricsOf,
  nanos,
  spanOf,
  telemetryPipe,
  tracesOf,
} from "../../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve, untilText } from "../../../harness/serve.ts";

type Source = {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly from: { databaseName: string };
};

let served: Served;
let service: BenchService;

beforeAll(async () => {
  served = await serve();
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => await served?.[Symbol.asyncDispose]());

const sql = (statement: string) => query(service, statement);

describe("rows", () => {
  test("a span becomes a row with all its parts, and its trace is found by the lookup table", async () => {
    const to = await telemetryPipe(served, service, "spans");
    const answered = await exportJson(to, "traces", tracesOf([spanOf(1), spanOf(2)]));
    expect([answered.status, answered.body]).toEqual([200, {}]);
    await untilText("two spans", "2", () => sql("SELECT count() FROM spans.otel_traces"));
    const row = JSON.parse(
      await sql(
        "SELECT * EXCEPT(Timestamp, `Events.Timestamp`), toUnixTimestamp64Nano(Timestamp) % 1000000000 AS ns FROM spans.otel_traces ORDER BY SpanId LIMIT 1 FORMAT JSONEachRow",
      ),
    ) as Record<string, unknown>;
    expect(row).toEqual({
      TraceId: "00000000000000000000000000000001",
      SpanId: "0000000000000001",
      ParentSpanId: "00000000000000ff",
      TraceState: "a=b",
      SpanName: "GET /1",
      SpanKind: "Server",
      ServiceName: "shop",
      ResourceAttributes: { "host.name": "h1", "service.name": "shop" },
      ScopeName: "library",
      ScopeVersion: "1.2",
      SpanAttributes: {
        count: "-9007199254740993",
        is: "true",
        list: '["<a>",2,null]',
        map: '{"a":"1","b":"2"}',
        raw: "AQID",
        share: "0.25",
        zebra: "last",
      },
      Duration: 1_000_000_002,
      StatusCode: "Error",
      StatusMessage: "failed",
      "Events.Name": ["exception"],
      "Events.Attributes": [{ message: "no" }],
      "Links.TraceId": ["ab".repeat(16)],
      "Links.SpanId": ["cd".repeat(8)],
      "Links.TraceState": ["c=d"],
      "Links.Attributes": [{ l: "1" }],
      ns: 1,
    });
    expect(await sql("SELECT count(), min(Start) > now() - 86400 FROM spans.otel_traces_trace_id_ts FORMAT TSV")).toBe(
      "2\t1",
    );
  });

  test("log records and points of every kind of metric become rows of their tables", async () => {
    const to = await telemetryPipe(served, service, "all");
    const record = {
      severityNumber: 9,
      severityText: "INFO",
      body: { stringValue: "hello" },
      eventName: "e",
      flags: 1,
    };
    const logs = [
      { ...record, timeUnixNano: nanos(5), traceId: "ef".repeat(16), spanId: "0a".repeat(8) },
      { ...record, observedTimeUnixNano: nanos(6), body: { kvlistValue: { values: [] } } },
    ];
    expect((await exportJson(to, "logs", logsOf(logs))).status).toBe(200);
    const point = {
      startTimeUnixNano: nanos(1),
      timeUnixNano: nanos(2),
      flags: 1,
      attributes: [{ key: "a", value: { stringValue: "b" } }],
    };
    const exemplars = [{ timeUnixNano: nanos(2), asInt: "7", traceId: "ab".repeat(16), spanId: "" }];
    const about = { description: "d", unit: "ms" };
    const distribution = { ...point, count: "6", sum: 1.5, min: 0.1, max: 0.9, exemplars };
    const metrics = [
      {
        ...about,
        name: "g",
        gauge: {
          dataPoints: [
            { ...point, asInt: "-3" },
            { ...point, asDouble: 2.5, exemplars },
          ],
        },
      },
      {
        ...about,
        name: "s",
        sum: { dataPoints: [{ ...point, asDouble: 4 }], aggregationTemporality: 2, isMonotonic: true },
      },
      {
        ...{ ...about, name: "h" },
        histogram: {
          dataPoints: [{ ...distribution, bucketCounts: ["1", 2, 3], explicitBounds: [1, 2.5] }],
          aggregationTemporality: 1,
        },
      },
      {
        ...{ ...about, name: "x" },
        exponentialHistogram: {
          dataPoints: [
            {
              ...{ ...distribution, scale: -2, zeroCount: "1" },
              ...{ positive: { offset: -1, bucketCounts: ["4", "5"] }, negative: { offset: 3, bucketCounts: [6] } },
            },
          ],
          aggregationTemporality: 1,
        },
      },
      {
        ...about,
        name: "y",
        summary: { dataPoints: [{ ...point, count: 2, sum: 3, quantileValues: [{ quantile: 0.5, value: 1 }] }] },
      },
    ];
    expect((await exportJson(to, "metrics", metricsOf(metrics))).body).toEqual({});
    await untilText("a summary", "1", () => sql("SELECT count() FROM all.otel_metrics_summary"));
    const rows = async (columns: string, table: string) =>
      await sql(`SELECT ${columns} FROM all.${table} ORDER BY ALL FORMAT TSV`);
    expect(
      await rows(
        "Body, SeverityNumber, SeverityText, EventName, TraceFlags, ScopeAttributes, SpanId, TimestampTime = toDateTime(Timestamp)",
        "otel_logs",
      ),
    ).toBe("hello\t9\tINFO\te\t1\t{'scoped':'yes'}\t0a0a0a0a0a0a0a0a\t1\n{}\t9\tINFO\te\t1\t{'scoped':'yes'}\t\t1");
    const common = "MetricName, MetricUnit, ScopeDroppedAttrCount, Attributes, Flags";
    expect(await rows(`Value, ${common}, \`Exemplars.Value\``, "otel_metrics_gauge")).toBe(
      "-3\tg\tms\t3\t{'a':'b'}\t1\t[]\n2.5\tg\tms\t3\t{'a':'b'}\t1\t[7]",
    );
    expect(await rows("Value, AggregationTemporality, IsMonotonic", "otel_metrics_sum")).toBe("4\t2\ttrue");
    const histogram = "Count, Sum, Min, Max, AggregationTemporality, `Exemplars.TraceId`";
    expect(await rows(`BucketCounts, ExplicitBounds, ${histogram}`, "otel_metrics_histogram")).toBe(
      `[1,2,3]\t[1,2.5]\t6\t1.5\t0.1\t0.9\t1\t['${"ab".repeat(16)}']`,
    );
    expect(
      await rows(
        `Scale, ZeroCount, PositiveOffset, PositiveBucketCounts, NegativeOffset, NegativeBucketCounts, ${histogram}`,
        "otel_metrics_exponential_histogram",
      ),
    ).toBe(`-2\t1\t-1\t[4,5]\t3\t[6]\t6\t1.5\t0.1\t0.9\t1\t['${"ab".repeat(16)}']`);
    expect(
      await rows("Count, Sum, `ValueAtQuantiles.Quantile`, `ValueAtQuantiles.Value`", "otel_metrics_summary"),
    ).toBe("2\t3\t[0.5]\t[1]");
  });
});

describe("answers", () => {
  const bytes = async (url: string, key: string, body: Uint8Array, headers: Record<string, string>) => {
    const response = await fetch(url, { method: "POST", body, headers: { authorization: key, ...headers } });
    const { status } = response;
    return { status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()).toString("latin1") };
  };
  const protobuf = { "content-type": "application/x-protobuf" };

  test("an answer has the encoding of the request, and an empty request is a success", async () => {
    const to = await telemetryPipe(served, service, "empty");
    expect((await exportJson(to, "logs", {})).body).toEqual({});
    const empty = await bytes(`${to.url}/v1/logs`, to.key, new Uint8Array(), protobuf);
    expect([empty.status, empty.headers.get("content-type"), empty.body]).toEqual([200, "application/x-protobuf", ""]);
  });

  test("records that cannot be kept are counted in a partial success, and the others are rows", async () => {
    const to = await telemetryPipe(served, service, "partial");
    const bad = { ...spanOf(2), startTimeUnixNano: "18446744073709551615" };
    const answered = await exportJson(to, "traces", tracesOf([spanOf(1), bad, { ...spanOf(3), spanId: "ab" }]));
    const errorMessage = "2 spans were not kept; of the first, startTimeUnixNano is later than the year 2262.";
    expect([answered.status, answered.body]).toEqual([200, { partialSuccess: { rejectedSpans: "2", errorMessage } }]);
    const point = { timeUnixNano: "18446744073709551615", asDouble: 1 };
    const gauge = metricsOf([{ name: "g", gauge: { dataPoints: [point] } }]);
    expect((await exportJson(to, "metrics", gauge)).body).toMatchObject({
      partialSuccess: { rejectedDataPoints: "1" },
    });
    await untilText("the good span", "0000000000000001", () => sql("SELECT SpanId FROM partial.otel_traces"));
  });

  test("what cannot be read is refused with a status that says why, and is not sent again", async () => {
    const to = await telemetryPipe(served, service, "refused");
    const wrong = await exportJson(to, "traces", tracesOf([{ ...spanOf(1), kind: "SPAN_KIND_SERVER" }]));
    expect([wrong.status, wrong.body]).toEqual([
      400,
      {
        code: 3,
        message:
          "The body is not an OTLP message in JSON: resourceSpans[0].scopeSpans[0].spans[0].kind must be an integer, as a number or a string.",
      },
    ]);
    const cut = await bytes(`${to.url}/v1/traces`, to.key, Buffer.from([0x0a, 0x05, 0x0a]), protobuf);
    expect([cut.status, cut.body.startsWith("\b\x03\x12")]).toEqual([400, true]);
    const bomb = gzipSync(Buffer.alloc(80 * 2 ** 20));
    const answers = [
      await bytes(`${to.url}/v1/traces`, to.key, bomb, { ...protobuf, "content-encoding": "gzip" }),
      await bytes(`${to.url}/v1/traces`, to.key, Buffer.from("x"), { "content-type": "text/plain" }),
      await bytes(`${to.url}/v1/profiles`, to.key, Buffer.from(""), protobuf),
      await bytes(`${to.url}/v1/traces`, "Bearer no.key", Buffer.from(""), protobuf),
      await bytes(to.url, to.key, Buffer.from("{}"), {}),
    ];
    expect(answers.map(({ status }) => status)).toEqual([413, 415, 404, 401, 415]);
  });

  test("a full inbox says when to come back, and a body that is sent again is kept once", async () => {
    const to = await telemetryPipe(served, service, "again", { source: { maxInboxGb: 0.001 } });
    const body = Buffer.from(JSON.stringify(logsOf([{ timeUnixNano: nanos(1), body: { stringValue: "once" } }])));
    const json = { "content-type": "application/json" };
    const forms = [body, gzipSync(body), zstdCompressSync(body)];
    for (const [at, form] of forms.entries()) {
      const encoding = ["identity", "gzip", "zstd"][at] as string;
      const { status } = await bytes(`${to.url}/v1/logs`, to.key, form, { ...json, "content-encoding": encoding });
      expect(status).toBe(200);
    }
    await untilText("one row", "1", () => sql("SELECT count() FROM again.otel_logs"));
    await served.api.updatePipeState({ params: { ...service.params, pipeId: to.pipeId }, body: { command: "stop" } });
    const large = logsOf([{ timeUnixNano: nanos(1), body: { stringValue: "x".repeat(2_000_000) } }]);
    expect((await exportJson(to, "logs", large)).status).toBe(200);
    const full = await exportJson(to, "logs", logsOf([{ timeUnixNano: nanos(2) }]));
    expect([full.status, full.headers.get("retry-after"), full.body.code]).toEqual([429, "10", 14]);
  });

  test("a key above its bytes per second is told when to come back", async () => {
    const to = await telemetryPipe(served, service, "slow", { key: { pushLimits: { bytesPerSecond: 10 } } });
    const large = logsOf([{ timeUnixNano: nanos(1), body: { stringValue: "x".repeat(100_000) } }]);
    expect((await exportJson(to, "logs", large)).status).toBe(200);
    const refused = await exportJson(to, "logs", logsOf([{ timeUnixNano: nanos(2) }]));
    expect([refused.status, Number(refused.headers.get("retry-after")) > 1_000]).toEqual([429, true]);
  });

  test("a request is kept once by its bytes and signal, and by its key where it has one", async () => {
    const to = await telemetryPipe(served, service, "repeated");
    const one = { timeUnixNano: nanos(1), body: { stringValue: "one" } };
    const statuses = async (signal: "logs" | "traces", body: object, headers: Record<string, string>[]) => {
      const answers = [];
      for (const each of headers) answers.push((await exportJson(to, signal, body, each)).status);
      return answers;
    };
    expect(await statuses("logs", logsOf([one]), [{}, {}])).toEqual([200, 200]);
    // Other bytes of the same record are another request.
    expect(await statuses("logs", logsOf([{ ...one, droppedAttributesCount: 1 }]), [{}, {}])).toEqual([200, 200]);
    const key = { "idempotency-key": "k" };
    expect(await statuses("logs", logsOf([one]), [key, key])).toEqual([200, 200]);
    expect(await statuses("logs", logsOf([one, one]), [key])).toEqual([422]);
    await untilText("three rows", "3", () => sql("SELECT count() FROM repeated.otel_logs"));
    // Records without members have the same bytes in both signals.
    expect(await statuses("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] }, [{}])).toEqual([200]);
    expect(await statuses("traces", { resourceSpans: [{ scopeSpans: [{ spans: [{}] }] }] }, [{}])).toEqual([200]);
    await untilText("both", "4\t1", () =>
      sql("SELECT (SELECT count() FROM repeated.otel_logs), (SELECT count() FROM repeated.otel_traces) FORMAT TSV"),
    );
  });

  test("what was acknowledged before a kill is there once after it", async () => {
    const to = await telemetryPipe(served, service, "killed");
    const bodies = Array.from({ length: 20 }, (_, at) => tracesOf([spanOf(at * 2), spanOf(at * 2 + 1)]));
    const sent = async (address: PushAddress) =>
      (await Promise.all(bodies.map((body) => exportJson(address, "traces", body)))).map(({ status }) => status);
    const all = bodies.map(() => 200);
    expect(await sent(to)).toEqual(all);
    served = await served.restartAfterKill();
    const moved = { ...to, url: `${served.credentials.baseUrl}/v1/push/${to.pipeId}` };
    // The answers might have been lost: every sender repeats its request.
    expect(await sent(moved)).toEqual(all);
    await untilText("each span once", "40\t40", () =>
      sql("SELECT count(), uniqExact(SpanId) FROM killed.otel_traces FORMAT TSV").catch(() => ""),
    );
  });
});

describe("tables and charts", () => {
  test("charts answer without further configuration, and say which metrics they cannot draw", async () => {
    const to = await telemetryPipe(served, service, "charted");
    await exportJson(to, "traces", tracesOf([spanOf(1), spanOf(2)]));
    await exportJson(to, "logs", logsOf([{ timeUnixNano: nanos(3), body: { stringValue: "hello" } }]));
    await exportJson(
      to,
      "metrics",
      metricsOf([{ name: "g", gauge: { dataPoints: [{ timeUnixNano: nanos(3), asDouble: 2 }] } }]),
    );
    await untilText("a point", "1", () => sql("SELECT count() FROM charted.otel_metrics_gauge"));
    await untilText("two spans", "2", () => sql("SELECT count() FROM charted.otel_traces"));
    const { json: sources } = await observabilityCall(served, "GET", "/api/v2/sources");
    const own = (sources.data as Source[]).filter(({ from }) => from.databaseName === "charted");
    expect(own.map(({ name, kind }) => `${kind} ${name}`).sort()).toEqual([
      ...["log otel_logs", "metric otel_metrics", "trace otel_traces"],
    ]);
    const series = async (kind: string, item: object) => {
      const sourceId = own.find((one) => one.kind === kind)?.id;
      const { status, json } = await observabilityCall(served, "POST", "/api/v2/charts/series", {
        ...{ startTime: Date.now() - 7_200_000, endTime: Date.now() + 3_600_000, granularity: "1h" },
        series: [{ sourceId, where: "", groupBy: [], ...item }],
      });
      return status === 200 ? json.data.map((row: Record<string, unknown>) => row["series_0.data"]) : json.message;
    };
    expect(await series("trace", { aggFn: "max", field: "Duration" })).toEqual([1_000_000_002]);
    expect(await series("log", { aggFn: "count", where: "hello" })).toEqual([1]);
    const gauge = { aggFn: "avg", field: "Value", metricName: "g", metricDataType: "gauge" };
    expect(await series("metric", gauge)).toEqual([2]);
    for (const [type, why] of [
      ["summary", "quantiles of several points cannot be merged"],
      ["exponential histogram", "their buckets change with the scale"],
    ] as const) {
      expect(await series("metric", { ...gauge, metricDataType: type })).toContain(why);
    }
  });

  test("days after which telemetry is deleted are in the tables, and follow a change", async () => {
    const ttl = async (table: string) =>
      /TTL .* \+ toIntervalDay\((\d+)\)/.exec(await sql(`SHOW CREATE TABLE aged.${table}`))?.[1];
    const to = await telemetryPipe(served, service, "aged", { source: { ttlDays: { logs: 7, traces: 3 } } });
    const all = () => Promise.all(["otel_logs", "otel_traces", "otel_traces_trace_id_ts", "otel_metrics_sum"].map(ttl));
    expect(await all()).toEqual(["7", "3", "3", undefined]);
    const params = { ...service.params, pipeId: to.pipeId };
    await served.api.updatePipe({ params, body: { source: { push: { ttlDays: { logs: 9, metrics: 1 } } } } as never });
    await untilText("another time", "9,3,3,1", async () => (await all()).join());
  });

  test("a table of an older collector is refused by name", async () => {
    await sql("CREATE DATABASE older");
    await sql("CREATE TABLE older.otel_logs (Timestamp DateTime64(9), Body String) ORDER BY Timestamp");
    await expect(telemetryPipe(served, service, "older")).rejects.toThrow(/older.otel_logs exists and has no TraceId/);
  });
});
