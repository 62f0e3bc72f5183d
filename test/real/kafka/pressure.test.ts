/** Kafka pipes of services that are idle, hang or are stopped: woken by messages, held in bounded memory. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kafkaMissing } from "../../../harness/kafka/kafka.ts";
import { kafkaBody, orders } from "../../../harness/kafka/pipes.ts";
import { type KafkaStage, kafkaStage } from "../../../harness/kafka/stage.ts";
import { createPipe, details, untilRows, untilState } from "../../../harness/pipes.ts";
import { query, runningService, until } from "../../../harness/serve.ts";

if (kafkaMissing !== undefined) console.warn(`Pressure on Kafka pipes is not tested: ${kafkaMissing}`);

const pidOf = (...path: string[]) => (JSON.parse(readFileSync(join(...path), "utf8")) as { pid: number }).pid;

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

describe.skipIf(kafkaMissing !== undefined || process.platform !== "linux")("Kafka pipes and their service", () => {
  let stage: KafkaStage;

  beforeAll(async () => {
    stage = await kafkaStage({ env: { MILLRACE_IDLE_MINUTE_MS: "300" }, kafka: { heapMb: 512 } });
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });

  test("an idle service is woken by messages and goes idle again, while the pipe keeps running", async () => {
    const { tool, kafka, served } = stage;
    const service = await runningService(served, { idleTimeoutMinutes: 5 });
    await tool.topic("rare");
    const id = await createPipe(served, service, kafkaBody(kafka, "rare", "rare"));
    await untilState(served, service, id, "Running");
    const serviceState = async () => (await served.api.getService({ params: service.params })).state;
    const sentRows = async () => Number((await details(served, service, id)).progress.sentRows ?? 0);
    for (const from of [0, 10]) {
      await until("idle", async () => (await serviceState()) === "idle");
      expect((await details(served, service, id)).state).toBe("Running");
      await tool.send(orders("rare", from, from + 10));
      // Not checked by a query, which would wake the service as well.
      await until("the rows are in", async () => (await sentRows()) === from + 10);
    }
    await until("idle at the end", async () => (await serviceState()) === "idle");
    expect(await query(service, "SELECT count(), sum(id) FROM rare")).toBe(`20\t${(19 * 20) / 2}`);
  });

  test("an engine that hangs holds the pipe in bounded memory; a stopped service holds it without a worker", async () => {
    const { tool, kafka, served, service } = stage;
    // 640 MB, of which the worker may hold much less.
    const [messages, bytes, partitions] = [40_000, 16_000, 4];
    await tool.topic("flood", partitions);
    const filler = "x".repeat(bytes);
    for (let from = 0; from < messages; from += 2_000) {
      const values = Array.from({ length: 2_000 }, (_, at) => `{"id":${from + at},"name":"n","filler":"${filler}"}`);
      await tool.send(values.map((value, at) => ({ topic: "flood", partition: at % partitions, value })));
    }
    const body = { scaling: { replicaMemoryGb: 1, concurrency: 2 } };
    const id = await createPipe(served, service, kafkaBody(kafka, "flood", "flood", { body }));
    await untilRows(served, service, "flood", 1_000);
    const engine = pidOf(served.dataDir, "services", service.id, "engine.pid");
    const worker = pidOf(served.dataDir, "pipes", `${id}.pid`);
    process.kill(engine, "SIGSTOP");
    const samples: number[] = [];
    try {
      const begun = Date.now();
      await until("eight seconds of a hanging engine", async () => {
        samples.push(residentMb(worker));
        return Date.now() - begun > 8_000;
      });
    } finally {
      process.kill(engine, "SIGCONT");
    }
    const late = samples.slice(Math.floor(samples.length / 2));
    console.info(`a hanging engine: the worker holds ${Math.round(Math.max(...late))} MB`);
    expect(Math.max(...late)).toBeLessThan(450);
    expect(Math.max(...late) - Math.min(...late)).toBeLessThan(150);
    await served.api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await untilState(served, service, id, "Stopped");
    expect(() => process.kill(worker, 0)).toThrow("ESRCH");
    await served.api.updateServiceState({ params: service.params, body: { command: "start" } });
    await untilRows(served, service, "flood", messages);
    expect(await query(service, "SELECT count(), uniqExact(id) FROM flood")).toBe(`${messages}\t${messages}`);
  });
});
