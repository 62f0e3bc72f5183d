/** The beginning of a job: the destination is prepared while the source is read, and neither side waits for ever. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { TestServer } from "../../../harness/clickhouse/server.ts";
import { anyNetwork } from "../../../harness/network/network.ts";
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, Connector, Source } from "../../sources/contract/source.ts";
import { begunMark, type Calls, type Job, type WorkerStatus } from "../protocol.ts";
import { runJob } from "./job.ts";

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const hourMs = 3_600_000;
const columns = [{ name: "a", type: "UInt8", sourceField: "a" }];

function jobOf(table: string, more: Partial<Job> = {}): Job {
  return {
    ...{ task: "load", pipeId: table, epoch: 0, sourceKind: "objectStorage", config: {}, settings: {}, scaling: {} },
    table: { kind: "table", database: "default", table, columns },
    destination: { table, managedTable: true, columns: [{ name: "a", type: "UInt8" }], tableDefinition: {} },
    ...{ replica: { index: 0, count: 1, run: "r" }, fence: 1, organizationId: "o" },
    limits: { sourceOutageMs: 60_000, sourceIdleTimeoutMs: 60_000, destinationOutageMs: 60_000, retryBaseMs: 1 },
    outgoing: { reach: ["any"], setting: "--x", ownPorts: [] },
    ...more,
  };
}

/** What the job tells and asks for, in order. `acquire` gives the address of the server. */
function watched(acquire: () => Promise<void>) {
  const steps: string[] = [];
  const told: WorkerStatus[] = [];
  const marks: Record<string, unknown> = {};
  const calls = {
    acquire: async () => {
      await acquire();
      return { lease: 1, address: server.address };
    },
    release: async () => {},
    intents: async () => [],
    checkpoints: async () => ({}),
    marks: async () => marks,
    note: async (noted: object) => {
      steps.push("prepared");
      Object.assign(marks, noted);
    },
    begin: async () => void steps.push("begin"),
    confirm: async () => void steps.push("confirm"),
  } as unknown as Calls;
  return { steps, told, marks, calls, events: { tell: (status: WorkerStatus) => void told.push(status), gauges() {} } };
}

type Read = Source["read"];

/** A connector whose source reads in this way. */
function reading(read: Read, ended: () => void = () => {}): () => Promise<Connector> {
  const source: Source = {
    read,
    replay: async () => ({}) as Batch,
    refused: async () => [],
    acknowledge: async () => {},
    [Symbol.asyncDispose]: async () => ended(),
  };
  return async () => ({ open: async () => source }) as unknown as Connector;
}

test("the source is read while the destination is prepared, and a batch begins after that", async () => {
  const service = Promise.withResolvers<void>();
  const { steps, told, calls, events } = watched(() => service.promise);
  const connect = reading(async function* () {
    steps.push("read");
    const insert = { sql: "INSERT INTO ahead VALUES (7)", rows: 1 };
    yield { lane: "l", id: "1", replay: {}, checkpoint: 1, inserts: [insert] };
  });
  const done = runJob(jobOf("ahead"), anyNetwork, connect, calls, events, new AbortController().signal);
  await vi.waitFor(() => expect(steps).toEqual(["read"]));
  expect(told).toEqual([{ phase: "preparing" }]);
  service.resolve();
  expect(await done).toEqual({ phase: "completed", refusal: undefined });
  expect(steps).toEqual(["read", "prepared", "begin", "confirm"]);
  expect(told).toEqual([{ phase: "preparing" }, { phase: "running" }]);
  expect((await server.client.text("SELECT a FROM ahead")).trim()).toBe("7");
});

test("of many that begin together none holds rows while the destinations are prepared", async () => {
  const service = Promise.withResolvers<void>();
  let asked = 0;
  const { steps, calls, events } = watched(async () => {
    asked += 1;
    await service.promise;
  });
  const connect = reading(async function* () {
    steps.push("read");
    yield* [] as Batch[];
  });
  const many = Array.from({ length: 20 }, (_, at) => jobOf(`many_${at}`));
  const done = many.map((job) => runJob(job, anyNetwork, connect, calls, events, new AbortController().signal));
  await vi.waitFor(() => expect(asked).toBeGreaterThanOrEqual(many.length));
  expect(steps).toEqual([]);
  service.resolve();
  await Promise.all(done);
  expect(steps.filter((step) => step === "read")).toHaveLength(many.length);
});

test("a destination that is unfit fails the pipe, also while its source waits for rows", async () => {
  const { calls, events, steps } = watched(async () => {});
  const { limits, destination } = jobOf("unfit");
  const more = {
    limits: { ...limits, destinationOutageMs: 0 },
    destination: { ...destination, columns: [{ name: "a", type: "Nothing8" }] },
  };
  const connect = reading(
    async function* (_checkpoints, signal) {
      yield* [] as Batch[];
      await sleep(hourMs, signal);
    },
    () => void steps.push("closed"),
  );
  const status = await runJob(jobOf("unfit", more), anyNetwork, connect, calls, events, new AbortController().signal);
  expect(status).toMatchObject({ phase: "failed", reason: expect.stringContaining("Nothing8") });
  expect(steps).toEqual(["closed"]);
});

test("a source that is lost fails the pipe, also while its service is away", async () => {
  const away = async () => {
    throw new AppError("SERVICE_NOT_RUNNING", "It is stopped.");
  };
  const { calls, events, marks } = watched(away);
  const connect = reading(async function* () {
    yield* [] as Batch[];
    throw new AppError("SOURCE_LOST", "The topic was deleted.");
  });
  const status = await runJob(jobOf("lost"), anyNetwork, connect, calls, events, new AbortController().signal);
  expect(status).toEqual({ phase: "failed", reason: "The topic was deleted." });
  expect(marks).not.toHaveProperty(begunMark);
});

test("a pipe without new rows is running once its service is back", async () => {
  let attempts = 0;
  const { calls, events, told } = watched(async () => {
    attempts += 1;
    if (attempts < 3) throw new AppError("SERVICE_NOT_RUNNING", "It is stopped.");
  });
  const stop = new AbortController();
  const connect = reading(async function* (_checkpoints, signal) {
    yield* [] as Batch[];
    await sleep(hourMs, signal);
  });
  const done = runJob(jobOf("quiet"), anyNetwork, connect, calls, events, stop.signal);
  await vi.waitFor(() => expect(told.at(-1)).toEqual({ phase: "running" }));
  const away = { phase: "degraded", reason: "waiting for the service: It is stopped" };
  expect(told).toEqual([{ phase: "preparing" }, away, { phase: "running" }]);
  stop.abort();
  expect(await done).toEqual({ phase: "stopped" });
});
