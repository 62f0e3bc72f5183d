import autocannon from "autocannon";
import { treeCpuSecondsOf } from "../harness/process-cpu.ts";
import type { PushAddress } from "../harness/push/pipes.ts";
import { telemetryPipe, tracesOf } from "../harness/push/telemetry.ts";
import { query, runningService, serve, until } from "../harness/serve.ts";
import { fromJson } from "../src/sources/push/otlp/json.ts";
import { type BenchResult, round } from "./bench.ts";
import { memoryOf } from "./fleet.ts";

export const description =
  "spans in Protobuf that 8 clients send: durable before the answer, decoded, and visible in the table";

const spansPerRequest = 500;
const connections = 8;
const seconds = 10;
/** Different bodies: a body that was sent before is not kept again. */
const variants = 1_000_000;

export async function run(): Promise<BenchResult> {
  await using served = await serve();
  const service = await runningService(served, { idleScaling: false });
  const to = await telemetryPipe(served, service, "bench");
  const pid = served.process.pid as number;
  await load(to, 2);
  const counted = async () => Number(await query(service, "SELECT count() FROM bench.otel_traces"));
  const drained = () =>
    until("everything is loaded", async () => {
      const { progress } = await served.api.getPipe({ params: { ...service.params, pipeId: to.pipeId } });
      return progress.lagMessages === 0;
    });
  await drained();
  const [before, cpu, memory, begun] = [await counted(), treeCpuSecondsOf(pid), memoryOf([pid]).rss, performance.now()];
  const accepted = await load(to, seconds);
  await drained();
  const took = (performance.now() - begun) / 1_000;
  const visible = (await counted()) - before;
  const cpuSeconds = treeCpuSecondsOf(pid) - cpu;
  if (visible < accepted.spans) throw new Error(`${visible} of ${accepted.spans} spans are in the table`);
  return {
    rows: [
      {
        "spans in a request": spansPerRequest,
        "accepted spans/s": Math.round(accepted.spans / accepted.seconds),
        "visible spans/s": Math.round(visible / took),
        "spans per processor second": Math.round(visible / cpuSeconds),
        "p99 ms": accepted.p99Ms,
      },
    ],
    summary: {
      visiblePerSecond: Math.round(visible / took),
      spansPerCpuSecond: Math.round(visible / cpuSeconds),
      p99Ms: accepted.p99Ms,
      // The control plane keeps no bodies.
      memoryGrowthMb: round(memoryOf([pid]).rss - memory),
    },
  };
}

async function load({ url, key }: PushAddress, duration: number) {
  const body = bodyOf();
  let sent = Math.floor(Math.random() * variants) * 1_000;
  const result = await autocannon({
    ...{ url: `${url}/v1/traces`, connections, duration, method: "POST" },
    headers: { authorization: key, "content-type": "application/x-protobuf" },
    requests: [
      {
        setupRequest: (request) => {
          // The last field of the request, which says nothing to the server, differs in each.
          const own = Buffer.from(body);
          own.writeUInt32LE(sent, own.length - 4);
          sent += 1;
          return { ...request, body: own };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests failed`);
  return { spans: result["2xx"] * spansPerRequest, seconds: result.duration, p99Ms: result.latency.p99 };
}

/** About 370 bytes a span, and a field of four bytes with a number that is not known. */
function bodyOf(): Buffer {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const start = BigInt(Date.now()) * 1_000_000n;
  const spans = Array.from({ length: spansPerRequest }, (_, id) => ({
    traceId: Math.floor(id / 10)
      .toString(16)
      .padStart(32, "1"),
    spanId: id.toString(16).padStart(16, "2"),
    parentSpanId: (id - 1).toString(16).replace("-", "").padStart(16, "3"),
    name: `GET /orders/${id % 20}`,
    kind: 2,
    startTimeUnixNano: String(start + BigInt(id) * 1_000n),
    endTimeUnixNano: String(start + BigInt(id) * 2_000n + 1_000_000n),
    attributes: [
      text("http.request.method", "GET"),
      text("http.route", `/orders/${id % 20}`),
      text("server.address", "shop.example.com"),
      { key: "server.port", value: { intValue: 443 } },
      { key: "http.response.status_code", value: { intValue: 200 } },
      text("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64)"),
      text("client.address", `10.0.0.${id % 250}`),
      text("url.scheme", "https"),
    ],
    ...(id % 10 === 0 ? { events: [{ timeUnixNano: String(start), name: "cache.miss" }] } : {}),
  }));
  const body = fromJson("traces", Buffer.from(JSON.stringify(tracesOf(spans))));
  return Buffer.concat([body, Buffer.from([0x7d, 0, 0, 0, 0])]);
}
