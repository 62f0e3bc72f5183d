/** Our Kafka client against the library that could replace it: `docs/decisions/0008-kafka.md`. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool } from "../harness/kafka/pipes.ts";
import { type BenchResult, median, round } from "./bench.ts";
import { jsonMessage } from "./kafka.ts";

export const description = "load time, and CPU per message of 200 B, of our Kafka client against @platformatic/kafka";

const partitions = 4;
const messages = 1_000_000;
const rounds = 3;
const peer = fileURLToPath(new URL("kafka-client-peer.ts", import.meta.url));

const clients = ["ours", "stream", "fetch"] as const;

type Client = (typeof clients)[number];
type Spent = { readonly wall: number; readonly cpu: number };
type Times = { readonly load: Spent; readonly read: Spent };

export async function run(): Promise<BenchResult> {
  await using kafka = await startKafka({ heapMb: 512 });
  await using tool = new KafkaTool(kafka);
  await tool.topic("bench", partitions);
  for (let from = 0; from < messages; from += 20_000) {
    const batch = Array.from({ length: 20_000 }, (_, at) => jsonMessage(from + at, 200));
    await tool.send(batch.map((value, at) => ({ topic: "bench", partition: at % partitions, value })));
  }
  const times: Record<Client, Times[]> = { ours: [], stream: [], fetch: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const client of clients) {
      const args = [peer, client, kafka.brokers, "bench", String(partitions), String(messages)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      times[client].push(JSON.parse(stdout) as Times);
    }
  }
  const of = (client: Client, phase: keyof Times, clock: keyof Spent) =>
    median(times[client].map((one) => one[phase][clock]));
  const line = (client: Client, what: string) => ({
    what,
    loadMs: round(of(client, "load", "wall"), 0),
    loadCpuMs: round(of(client, "load", "cpu"), 0),
    readMs: round(of(client, "read", "wall"), 0),
    readCpuMs: round(of(client, "read", "cpu"), 0),
    messagesPerCpuSecond: Math.round((messages / of(client, "read", "cpu")) * 1000),
  });
  return {
    rows: [
      line("ours", "our client"),
      line("fetch", "@platformatic/kafka, consumer.fetch()"),
      line("stream", "@platformatic/kafka, its stream"),
    ],
    summary: {
      ratio: round(of("fetch", "read", "cpu") / of("ours", "read", "cpu")),
      streamRatio: round(of("stream", "read", "cpu") / of("ours", "read", "cpu")),
      loadRatio: round(of("fetch", "load", "cpu") / of("ours", "load", "cpu")),
      messages,
    },
  };
}
