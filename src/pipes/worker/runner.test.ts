/** Order within a lane, when the runner is stopped or one of its own steps fails. */
import { expect, test, vi } from "vitest";
import { ClickHouseError } from "../../clickhouse/client.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, InsertFailure, Source } from "../../sources/contract/source.ts";
import type { Confirmation, Intent } from "../durable.ts";
import type { WorkerStatus } from "../protocol.ts";
import { Health } from "./health.ts";
import { Runner, type RunnerParts } from "./runner.ts";

const never = Number.POSITIVE_INFINITY;
const limits = { sourceOutageMs: never, sourceIdleTimeoutMs: 5_000, destinationOutageMs: never, retryBaseMs: 1 };
const summary = { readRows: 0, readBytes: 0, writtenRows: 1, writtenBytes: 0 };

/** A lane of numbers, cut anew by every `read`: one number per batch, or all that are left. */
class NumbersSource implements Source {
  cut = 1;
  readonly inserted: string[] = [];
  /** Number of batches offered to readers. */
  offered = 0;

  async *read(checkpoints: ReadonlyMap<string, unknown>): AsyncIterable<Batch> {
    for (let from = Number(checkpoints.get("lane") ?? 0); from < 3; from += this.cut) {
      this.offered += 1;
      yield this.#batch(from, Math.min(3, from + this.cut));
    }
  }

  async replay(replay: { from?: unknown; to?: unknown }): Promise<Batch> {
    return this.#batch(Number(replay.from), Number(replay.to));
  }

  refused: Source["refused"] = async () => [];

  async acknowledge(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}

  #batch(from: number, to: number): Batch {
    return {
      lane: "lane",
      id: `${from}-${to}`,
      replay: { from, to },
      checkpoint: to,
      inserts: [{ sql: `${from}-${to}` }],
    };
  }
}

function partsOf(source: Source, more: Pick<RunnerParts, "destination"> & { confirm?: () => void }) {
  const intents = new Map<string, Intent>();
  const checkpoints = new Map<string, number>();
  const parts: RunnerParts = {
    pipeId: "pipe",
    epoch: 0,
    source,
    ledger: {
      begin: async (intent: Intent) => void intents.set(intent.batchId, intent),
      replace: async () => {},
      confirm: async (done: Confirmation) => {
        more.confirm?.();
        intents.delete(done.batchId);
        checkpoints.set(done.lane, Number(done.checkpoint));
      },
      intents: async () => [...intents.values()],
      checkpoints: async () => Object.fromEntries(checkpoints),
    },
    destination: more.destination,
    health: new Health(limits, () => {}),
    settings: {},
    concurrency: 2,
    ownsTables: false,
    limits,
    worker: { run: "run", index: 0 },
    isMine: () => true,
  };
  return { parts, intents, checkpoints };
}

test("a batch whose confirmation failed is replayed as it was, before the source is read on", async () => {
  const source = new NumbersSource();
  const tokens: string[] = [];
  let failures = 0;
  const { parts, checkpoints } = partsOf(source, {
    destination: {
      insert: async (_insert, settings) => {
        tokens.push(String(settings.insert_deduplication_token));
        return summary;
      },
      reject: async () => {},
      crashes: async () => 0,
    },
    confirm: () => {
      failures += 1;
      if (failures !== 1) return;
      // Otherwise the source would cut its next batches the same way.
      source.cut = 3;
      throw new Error("the ledger is busy");
    },
  });
  await new Runner(parts, new AbortController().signal).run();
  expect(tokens).toEqual(["pipe:0:0-1:0", "pipe:0:0-1:0", "pipe:0:1-3:0"]);
  expect(checkpoints.get("lane")).toBe(3);
});

test("an insert is repeated with its own settings where those before it are missing, and with saved ones otherwise", async () => {
  const source = new NumbersSource();
  const [first, second] = [
    { sql: "first", key: "a", settings: { a: 1 } },
    { sql: "second", key: "b", settings: { b: 2 } },
  ];
  const rebuilt = { lane: "lane", id: "0", replay: {}, checkpoint: 3 };
  const keyless = { lane: "other", id: "1", replay: { from: 3 }, checkpoint: 3 };
  source.read = async function* () {};
  source.replay = async ({ from }) =>
    from === 3 ? { ...keyless, inserts: [{ sql: "third", settings: { c: 9 } }] } : { ...rebuilt, inserts: [second] };
  const ran: [sql: string, settings: object][] = [];
  const { parts, intents } = partsOf(source, {
    destination: {
      insert: async ({ sql }, { insert_deduplication_token: _, ...settings }) => {
        ran.push([sql, settings]);
        return summary;
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  const saved = { run: "before", replica: 0, since: "before", token: "t" };
  const settings = [first, second].map((insert) => insert.settings);
  intents.set("0", { lane: "lane", batchId: "0", intent: { ...saved, settings, replay: {} } });
  const kept = { ...saved, settings: [{ c: 3 }], replay: { from: 3 } };
  intents.set("1", { lane: "other", batchId: "1", intent: kept });
  await new Runner(parts, new AbortController().signal).run();
  expect(Object.fromEntries(ran)).toEqual({ second: { a: 1, b: 2 }, third: { c: 3 } });
});

test("the source is asked at once about an object that is not there, and one that it shows is waited for", async () => {
  const source = new NumbersSource();
  let [attempts, looks] = [0, 0];
  source.refused = async (batch: Batch) => {
    looks += 1;
    return attempts < 4 ? [batch] : [{ ...batch, inserts: [] }];
  };
  const { parts } = partsOf(source, {
    destination: {
      insert: async () => {
        attempts += 1;
        throw new ClickHouseError(499, 500, "Failed to get object info. HTTP response code: 404: while reading key: a");
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  source.cut = 3;
  await new Runner(parts, new AbortController().signal).run();
  expect([attempts, looks]).toEqual([1 + 4, 2]);
});

test("a batch during which the engine ended is examined, and repeated as it was when it is not to blame", async () => {
  const source = new NumbersSource();
  const [tokens, refusals]: [string[], string[]] = [[], []];
  let crashes = 0;
  source.refused = async (batch: Batch, { kind }: InsertFailure) => {
    refusals.push(`${kind} ${batch.id}`);
    return [batch];
  };
  const { parts, checkpoints } = partsOf(source, {
    destination: {
      insert: async (_insert, settings) => {
        tokens.push(`${settings.insert_deduplication_token} ${settings.frozen}`);
        // The first of them does not end the engine, which is away for another reason.
        if (tokens.length === 3) crashes += 1;
        if (tokens.length >= 2 && tokens.length <= 3) throw new Error("socket hang up");
        return summary;
      },
      reject: async () => {},
      crashes: async () => crashes,
    },
  });
  await new Runner({ ...parts, settings: { frozen: 1 } }, new AbortController().signal).run();
  expect(refusals).toEqual(["crash 1-2"]);
  expect(tokens).toEqual(["0-1", "1-2", "1-2", "1-2", "2-3"].map((id) => `pipe:0:${id}:0 1`));
  expect(checkpoints.get("lane")).toBe(3);
});

test("the pipe shows a statement that takes longer than it should, until it has ended", async () => {
  const statuses: WorkerStatus[] = [];
  const blocked = Promise.withResolvers<void>();
  const source = new NumbersSource();
  let looks = 0;
  const look = async () => {
    looks += 1;
    throw new Error("the engine has ended");
  };
  const inserts = [{ sql: "a", slow: { afterMs: 10, warning: "a is being read", look } }, { sql: "b" }];
  source.read = async function* () {
    yield { lane: "lane", id: "0", replay: {}, checkpoint: 1, inserts };
  };
  const { parts } = partsOf(source, {
    destination: {
      insert: async ({ sql }) => {
        if (sql === "a") await blocked.promise;
        return summary;
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  const health = new Health(limits, (status) => statuses.push(status));
  const running = new Runner({ ...parts, health }, new AbortController().signal).run();
  await vi.waitFor(() => expect(statuses).toContainEqual({ phase: "degraded", reason: "a is being read" }), 60_000);
  blocked.resolve();
  await running;
  expect(statuses.at(-1)).toEqual({ phase: "running" });
  expect(looks).toBe(1);
});

test("when an insert is broken off, the next batch of its lane does not begin", async () => {
  const stop = new AbortController();
  const source = new NumbersSource();
  const { parts, intents } = partsOf(source, {
    destination: {
      insert: async () => {
        await vi.waitFor(() => expect(source.offered).toBe(2), 60_000);
        stop.abort();
        throw new Error("aborted");
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  await new Runner(parts, stop.signal).run();
  expect([...intents.keys()]).toEqual(["0-1"]);
});

test("where no batch may begin, the pipe says why, waits longer each time, and goes on by itself", async () => {
  const source = new NumbersSource();
  const statuses: WorkerStatus[] = [];
  const inserted: string[] = [];
  const { parts } = partsOf(source, {
    destination: {
      insert: async ({ sql }) => {
        inserted.push(sql);
        return summary;
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  const begunAt: number[] = [];
  const begin = async (intent: Intent) => {
    begunAt.push(performance.now());
    if (begunAt.length <= 6) throw new AppError("LIMIT_REACHED", "The disk is full");
    await parts.ledger.begin(intent);
  };
  const health = new Health(limits, (status) => statuses.push(status));
  await new Runner(
    { ...parts, concurrency: 1, ledger: { ...parts.ledger, begin }, health },
    new AbortController().signal,
  ).run();
  expect(inserted).toEqual(["0-1", "1-2", "2-3"]);
  const degraded = { phase: "degraded", reason: "waiting for the service: The disk is full" };
  expect(statuses).toEqual([{ phase: "running" }, degraded, { phase: "running" }]);
  // Pauses of 0.5 to 1, 1 to 2, 2 to 4 ... ms.
  expect((begunAt[6] as number) - (begunAt[0] as number)).toBeGreaterThan(31);
});

test("a pipe without new rows runs again when the store answers", async () => {
  const source = new NumbersSource();
  const statuses: WorkerStatus[] = [];
  const { parts } = partsOf(source, {
    destination: { insert: async () => summary, reject: async () => {}, crashes: async () => 0 },
  });
  let reads = 0;
  source.read = async function* () {
    reads += 1;
    if (reads < 3) throw new AppError("STORE_UNAVAILABLE", "The metadata database does not answer.");
    yield* [];
  };
  const health = new Health(limits, (status) => statuses.push(status));
  await new Runner({ ...parts, health }, new AbortController().signal).run();
  const degraded = { phase: "degraded", reason: "waiting for the metadata: The metadata database does not answer" };
  expect(statuses).toEqual([{ phase: "running" }, degraded, { phase: "running" }, degraded, { phase: "running" }]);
});

test("the reason of an insert that fails stays shown while inserts of other lanes work", async () => {
  const lanes: Batch[] = ["bad", "good"].map((lane) => ({ lane, id: lane, replay: {}, inserts: [{ sql: lane }] }));
  const source: Source = {
    read: async function* () {
      yield* lanes;
    },
    replay: async () => lanes[0] as Batch,
    refused: async () => [],
    acknowledge: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const statuses: WorkerStatus[] = [];
  let failures = 0;
  let isGoodDone = false;
  const { parts } = partsOf(source, {
    destination: {
      insert: async ({ sql }) => {
        if (sql === "good") await vi.waitFor(() => expect(failures).toBeGreaterThan(0), 60_000);
        isGoodDone ||= sql === "good";
        if (sql === "good" || (isGoodDone && failures > 2)) return summary;
        failures += 1;
        throw new ClickHouseError(499, 500, "Code: 499. DB::Exception: the store is away (S3_ERROR)");
      },
      reject: async () => {},
      crashes: async () => 0,
    },
  });
  const health = new Health(limits, (status) => statuses.push(status));
  await new Runner({ ...parts, health }, new AbortController().signal).run();
  const reason = "the source fails: the store is away (S3_ERROR)";
  const degraded = { phase: "degraded", reason, isSourceAway: true };
  expect(statuses).toEqual([{ phase: "running" }, degraded, { phase: "running" }]);
});
