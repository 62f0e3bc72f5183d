import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { freePort } from "../harness/network/free-port.ts";
import { exportGrpc } from "../harness/push/grpc.ts";
import { Ordeal, ofSeeds } from "../harness/push/ordeal.ts";
import type { PushAddress } from "../harness/push/pipes.ts";
import { logsOf, metricsOf, nanos, type Signal, telemetryPipe, tracesOf } from "../harness/push/telemetry.ts";
import { Dice } from "../harness/random.ts";
import { query } from "../harness/serve.ts";
import { fromJson } from "../src/sources/push/otlp/json.ts";

export const description =
  "senders like the SDKs of OpenTelemetry, over HTTP and gRPC, while everything is killed, the disk fills up and the service sleeps";

const recordsPerRequest = 20;
const signals = ["traces", "logs", "metrics"] as const;
/** SDKs end after so many attempts, with these pauses. */
const attempts = 8;
const pauseMs = { first: 200, most: 3_000 };
/** Answers that get lost on the way. */
const lost = 0.1;

/** How a request is repeated: in the `same` bytes, or in `other` ones for each attempt, as a collector may. */
type Way = "same" | "other";
type Sender = { readonly protocol: "http" | "grpc"; readonly way: Way };
const senders: readonly Sender[] = (["http", "grpc"] as const).flatMap((protocol) => [
  ...Array.from({ length: 3 }, () => ({ protocol, way: "same" as const })),
  { protocol, way: "other" },
]);

type Told = "acknowledged" | "given up";
/** What each record was told, by its id, in the order of requests. */
type Sent = { readonly way: Way; readonly told: Map<number, Told> };

export async function run(): Promise<Record<string, string | number>> {
  return await ofSeeds(soak);
}

async function soak(seed: number): Promise<Record<string, number>> {
  const port = await freePort();
  await using ordeal = await Ordeal.begin(seed, { MILLRACE_OTLP_PORT: String(port) });
  const to = await telemetryPipe(ordeal.served, ordeal.service, "soaked", { source: { wakeAfterSeconds: 2 } });
  ordeal.pipeId = to.pipeId;
  let requests = 0;
  const counts = { repeats: 0, "given up": 0 };
  const sending = senders.map(async (sender, at): Promise<Sent> => {
    const dice = new Dice(seed * 1_000 + at);
    const told = new Map<number, Told>();
    while (!ordeal.isOver) {
      await ordeal.mayGoOn();
      const first = recordsPerRequest * requests;
      requests += 1;
      const answer = await exported({ ordeal, to, port }, sender, first, dice, () => {
        counts.repeats += 1;
      });
      if (answer === "given up") counts["given up"] += 1;
      for (let id = first; id < first + recordsPerRequest; id += 1) told.set(id, answer);
      await delay(dice.next() * 100);
    }
    return { way: sender.way, told };
  });
  await ordeal.endure();
  const sent = await Promise.all(sending);
  await ordeal.drained();
  const { records, doubled } = judge(seed, sent, await found(ordeal));
  return { requests, records, doubled, ...counts, ...ordeal.counts };
}

type Place = { readonly ordeal: Ordeal; readonly to: PushAddress; readonly port: number };

/** Sends a request as an SDK does: what may be repeated is, until it is acknowledged, or for the last time. */
async function exported(
  place: Place,
  { protocol, way }: Sender,
  first: number,
  dice: Dice,
  repeats: () => void,
): Promise<Told> {
  const signal = signals[(first / recordsPerRequest) % signals.length] as Signal;
  const bytes = requestOf(signal, first);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    // A field that says nothing to the server, with the number of the attempt.
    const body = way === "same" ? bytes : Buffer.concat([bytes, Buffer.from([0x78, attempt])]);
    const answered = await (protocol === "http" ? overHttp : overGrpc)(place, signal, body).catch(() => undefined);
    if (answered?.isFinal === true) throw new Error(`${signal} were refused: ${answered.sentence}`);
    if (answered?.isKept === true && !dice.chance(lost)) return "acknowledged";
    repeats();
    await delay(dice.next() * Math.min(pauseMs.most, pauseMs.first * 2 ** attempt));
  }
  return "given up";
}

type Answered = { readonly isKept: boolean; readonly isFinal: boolean; readonly sentence: string };

async function overHttp({ ordeal, to }: Place, signal: Signal, body: Buffer): Promise<Answered> {
  const response = await fetch(`${ordeal.served.credentials.baseUrl}/v1/push/${to.pipeId}/v1/${signal}`, {
    method: "POST",
    body: new Uint8Array(gzipSync(body)),
    headers: { authorization: to.key, "content-type": "application/x-protobuf", "content-encoding": "gzip" },
    signal: AbortSignal.timeout(10_000),
  });
  const { status } = response;
  const sentence = `${status} ${await response.text()}`;
  return { isKept: status === 200, isFinal: ![200, 429, 502, 503, 504].includes(status), sentence };
}

async function overGrpc({ to, port }: Place, signal: Signal, body: Buffer): Promise<Answered> {
  const { status, sentence } = await exportGrpc(port, to.key, signal, body);
  return { isKept: status === 0, isFinal: ![0, 14].includes(status), sentence };
}

function requestOf(signal: Signal, first: number): Buffer {
  const ids = Array.from({ length: recordsPerRequest }, (_, at) => first + at);
  const time = { startTimeUnixNano: nanos(1), timeUnixNano: nanos(2) };
  const documents = {
    traces: () => tracesOf(ids.map((id) => ({ ...time, endTimeUnixNano: nanos(2), name: `span ${id}` }))),
    logs: () => logsOf(ids.map((id) => ({ ...time, body: { stringValue: `log ${id}` } }))),
    metrics: () => metricsOf([{ name: "m", gauge: { dataPoints: ids.map((id) => ({ ...time, asDouble: id })) } }]),
  };
  return fromJson(signal, Buffer.from(JSON.stringify(documents[signal]())));
}

/** How often each record is in its table. */
async function found({ service }: Ordeal): Promise<ReadonlyMap<number, number>> {
  const all = await query(
    service,
    `SELECT id, count() FROM (
      SELECT toUInt64(substring(SpanName, 6)) AS id FROM soaked.otel_traces
      UNION ALL SELECT toUInt64(substring(Body, 5)) FROM soaked.otel_logs
      UNION ALL SELECT toUInt64(Value) FROM soaked.otel_metrics_gauge
    ) GROUP BY id FORMAT TSV`,
  );
  return new Map(all.split("\n").map((line) => line.split("\t").map(Number) as [number, number]));
}

/** What is acknowledged is there; what was sent in the same bytes is there once, and nothing else is. */
function judge(seed: number, sent: readonly Sent[], rows: ReadonlyMap<number, number>) {
  let [records, doubled] = [0, 0];
  const known = new Set<number>();
  const wrong: string[] = [];
  for (const { way, told } of sent) {
    for (const [id, answer] of told) {
      const count = rows.get(id) ?? 0;
      known.add(id);
      if (answer === "acknowledged" && count === 0) wrong.push(`${id} was acknowledged and is lost`);
      if (way === "same" && count > 1) wrong.push(`${id} was sent in the same bytes and is there ${count} times`);
      records += count > 0 ? 1 : 0;
      doubled += count > 1 ? 1 : 0;
    }
  }
  for (const id of rows.keys()) if (!known.has(id)) wrong.push(`${id} was never sent`);
  if (wrong.length > 0)
    throw new Error(`seed ${seed}: ${wrong.length} records, such as: ${wrong.slice(0, 5).join("; ")}`);
  return { records, doubled };
}
