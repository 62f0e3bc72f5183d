/**
 * A Kafka pipe under random faults: workers, engine host, control plane and broker are killed with -9, workers are
 * frozen and wake late, the number of replicas changes, partitions are added, and bad messages and aborted transactions
 * are mixed with the good ones. In the end the table, and a materialized view of it, hold every good message of the
 * topics exactly once, by offset. `SEED` repeats a run, `SECONDS` bounds it (default 90).
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { assertAccounted } from "../harness/accounting.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { startKafka, type TestKafka } from "../harness/kafka/kafka.ts";
import { KafkaTool, kafkaBody, type Produced } from "../harness/kafka/pipes.ts";
import { auditTopics, type TopicAudit } from "../harness/kafka/topic-audit.ts";
import { createPipe, details } from "../harness/pipes.ts";
import { random } from "../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";

export const description =
  "Kafka pipes stay exactly-once under kill -9 of everything, zombies, scaling and bad messages";

const seconds = numberOf("SECONDS", 90);
const seed = seedOf();
const topics = ["soak-a", "soak-b"];

type Run = {
  served: Served;
  service: BenchService;
  kafka: TestKafka;
  tool: KafkaTool;
  pipeId: string;
  next: () => number;
  nextId: number;
  engineKills: number[];
  faults: Record<string, number>;
};

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds}`);
  await using kafka = await startKafka();
  await using tool = new KafkaTool(kafka);
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: process.env.LOG ?? "error" } });
  const service = await runningService(served, { idleScaling: false });
  const state: Run = {
    kafka,
    tool,
    served,
    service,
    pipeId: "",
    next: random(seed),
    nextId: 0,
    engineKills: [],
    faults: {},
  };
  try {
    await prepare(state);
    const deadline = Date.now() + seconds * 1000;
    await Promise.all([produce(state, deadline), injectFaults(state, deadline)]);
    return await verify(state);
  } finally {
    await state.served[Symbol.asyncDispose]();
  }
}

const columns = [
  { name: "id", type: "UInt64", sourceField: "id" },
  { name: "topic", type: "LowCardinality(String)", sourceField: "_topic" },
  { name: "partition", type: "Int32", sourceField: "_partition" },
  { name: "offset", type: "Int64", sourceField: "_offset" },
];

async function prepare(state: Run): Promise<void> {
  for (const topic of topics) await state.tool.topic(topic, 3);
  const list = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  await query(state.service, `CREATE TABLE soak (${list}) ENGINE = MergeTree PARTITION BY id % 3 ORDER BY id`);
  await query(state.service, "CREATE TABLE sums (k UInt8, c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY k");
  await query(
    state.service,
    "CREATE MATERIALIZED VIEW view TO sums AS SELECT id % 7 AS k, count() AS c, sum(id) AS s FROM soak GROUP BY k",
  );
  const body = kafkaBody(state.kafka, topics.join(","), "soak", {
    destination: {
      managedTable: false,
      tableDefinition: null,
      columns: columns.map(({ name, type }) => ({ name, type })),
    },
    body: {
      fieldMappings: columns.map(({ name, sourceField }) => ({ sourceField, destinationField: name })),
      // Small batches, so that kills find many of them half inserted.
      scaling: { replicas: 2, replicaMemoryGb: 0.5 },
    },
  });
  state.pipeId = await createPipe(state.served, state.service, body);
}

/** Bursts of good messages with bad ones, tombstones and aborted transactions among them. */
async function produce(state: Run, deadline: number): Promise<void> {
  while (Date.now() < deadline) {
    const count = 1 + Math.floor(state.next() * 5_000);
    const topic = topics[Math.floor(state.next() * topics.length)] as string;
    const messages = Array.from({ length: count }, (): Produced => ({ topic, ...content(state) }));
    const codec = (["none", "lz4", "zstd", "gzip", "snappy"] as const)[Math.floor(state.next() * 5)] ?? "none";
    try {
      if (state.next() < 0.1) {
        const end = state.next() < 0.5 ? "abort" : "commit";
        await state.tool.transaction(
          messages.slice(0, 50).map((message, at) => ({ ...message, partition: at % 3 })),
          end,
        );
      } else await state.tool.send(messages, codec);
    } catch {
      // The broker was killed a moment ago. Reading the topics in the end shows what it accepted.
      await delay(300);
    }
    await delay(state.next() * 100);
  }
}

function content(state: Run): { value: string | null; partition?: number } {
  const id = state.nextId;
  state.nextId += 1;
  const dice = state.next();
  const partition = Math.floor(state.next() * 3);
  if (dice < 0.0005) return { value: `{"id":"bad ${id}"}`, partition };
  if (dice < 0.001) return { value: `{"id":${id}`, partition };
  if (dice < 0.0015) return { value: null, partition };
  // Where new partitions are used too.
  return { value: `{"id":${id},\n"name":"name ${id}"}`, ...(dice < 0.5 ? { partition } : {}) };
}

async function injectFaults(state: Run, deadline: number): Promise<void> {
  for (let round = 1; Date.now() < deadline; round += 1) {
    await delay(600 + state.next() * 1_800);
    await revive(state);
    await retried(() => injectFault(state));
    if (round % 12 === 0) {
      const partitions = 2 + round / 12;
      for (const topic of topics) {
        await state.tool
          .grow(topic, partitions, partitions + 1)
          .then(() => count(state, "partitionsAdded"))
          .catch(() => {});
      }
    }
  }
  await revive(state);
}

/** Acts as the operator: a service or a pipe that was killed too often stays down until it is started again. */
async function revive(state: Run): Promise<void> {
  const { params } = state.service;
  if ((await state.served.api.getService({ params })).state === "failed") {
    await state.served.api.updateServiceState({ params, body: { command: "start" } });
  }
  const { state: word } = await details(state.served, state.service, state.pipeId);
  if (word !== "InternalError" && word !== "Failed") return;
  await state.served.api.updatePipeState({ params: { ...params, pipeId: state.pipeId }, body: { command: "start" } });
}

async function injectFault(state: Run): Promise<void> {
  const dice = state.next();
  const params = { ...state.service.params, pipeId: state.pipeId };
  const replica = Math.floor(state.next() * 3);
  const pidFile = `${state.served.dataDir}/pipes/${state.pipeId}${replica === 0 ? "" : `.${replica}`}.pid`;
  // A service is given up when its engine dies six times in a row without a stable minute: stay below that.
  state.engineKills = state.engineKills.filter((at) => Date.now() - at < 70_000);
  if (dice < 0.3) {
    if (signal(pidFile, "SIGKILL")) count(state, "worker");
  } else if (dice < 0.42) {
    if (!signal(pidFile, "SIGSTOP")) return;
    count(state, "zombie");
    const frozen = pidOf(pidFile);
    // Some wake when others have taken over: after a restart of the control plane, or of the workers.
    if (dice < 0.34) state.served = await state.served.restartAfterKill();
    else if (dice < 0.37) await state.served.api.updatePipeScaling({ params, body: { replicas: 1 + replica } });
    await delay(1_000 + state.next() * 3_000);
    if (frozen !== undefined) send(frozen, "SIGCONT");
  } else if (dice < 0.58 && state.engineKills.length < 4) {
    if (!signal(`${state.served.dataDir}/services/${state.service.id}/engine.pid`, "SIGKILL")) return;
    state.engineKills.push(Date.now());
    count(state, "engine");
  } else if (dice < 0.68) {
    state.served = await state.served.restartAfterKill();
    count(state, "control");
  } else if (dice < 0.78) {
    await state.kafka.restart();
    count(state, "broker");
  } else if (dice < 0.92) {
    await state.served.api.updatePipeScaling({ params, body: { replicas: 1 + Math.floor(state.next() * 3) } });
    count(state, "scaled");
  } else {
    const wait = 500 + Math.floor(state.next() * 1_500);
    await state.served.api.updatePipeSettings({ params, body: { streaming_max_insert_wait_ms: wait } });
    count(state, "edited");
  }
}

async function verify(state: Run): Promise<Record<string, string | number>> {
  const audit = await auditTopics(state.kafka, topics, /^\{"id":(\d+),/);
  const look = () => query(state.service, "SELECT count(), sum(id) FROM soak").catch(() => "");
  const started = Date.now();
  let said = started;
  await until(
    "all messages are there",
    async () => {
      const now = await look();
      if (Date.now() - said > 10_000) {
        said = Date.now();
        const pipe = await details(state.served, state.service, state.pipeId);
        console.log(`${now} of ${audit.good}; ${pipe.state} ${pipe.lastError ?? ""} ${JSON.stringify(pipe.progress)}`);
      }
      return Number(now.split("\t")[0]) >= audit.good;
    },
    300_000,
  ).catch(async (error: Error) => {
    const pipe = await details(state.served, state.service, state.pipeId);
    throw new Error(
      `${error.message}: ${await look()} of ${audit.good}; ${pipe.state} ${pipe.lastError ?? ""} ` +
        `${JSON.stringify(pipe.progress)} SEED=${seed}`,
    );
  });
  console.log(`caught up after ${Math.round((Date.now() - started) / 1000)} s`);
  // Time for duplicates to arrive.
  await delay(3_000);
  return await compare(state, audit);
}

async function compare(state: Run, audit: TopicAudit): Promise<Record<string, string | number>> {
  const seen = await query(
    state.service,
    "SELECT count(), uniqExact(topic, partition, offset), sum(id), (SELECT sum(c) FROM sums), (SELECT sum(s) FROM sums) FROM soak",
  );
  const errors = await query(
    state.service,
    "SELECT uniqExact(origin, position) FROM soak_pipes_error WHERE NOT match(position, '-')",
  ).catch(() => "0");
  const expected = [audit.good, audit.good, audit.sum, audit.good, audit.sum].join("\t");
  console.log(`seen ${seen}; expected ${expected}; ${errors} bad of ${audit.bad}; ${JSON.stringify(state.faults)}`);
  if (seen !== expected || Number(errors) !== audit.bad) {
    const doubled = await query(
      state.service,
      "SELECT topic, partition, offset, groupArray(_part) FROM soak GROUP BY 1, 2, 3 HAVING count() > 1 LIMIT 20",
    );
    throw new Error(`not exactly once. SEED=${seed}\n${doubled}`);
  }
  await assertAccounted(state.served, state.service, state.pipeId, {
    sentRows: audit.good,
    refusedRows: audit.bad,
    skippedRows: audit.tombstones,
  });
  return { rows: audit.good, bad: audit.bad, seed, ...state.faults };
}

function count(state: Run, fault: string): void {
  state.faults[fault] = (state.faults[fault] ?? 0) + 1;
}

function signal(pidFile: string, name: NodeJS.Signals): boolean {
  const pid = pidOf(pidFile);
  return pid !== undefined && send(pid, name);
}

function pidOf(pidFile: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number }).pid;
  } catch {
    // The process is not running.
    return undefined;
  }
}

function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** A request may meet a restarting control plane or a transitional state. */
async function retried(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 20) throw error;
      await delay(300);
    }
  }
}
