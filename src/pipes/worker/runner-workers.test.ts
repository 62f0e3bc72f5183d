import { expect, test, vi } from "vitest";
import { ClickHouseError } from "../../clickhouse/client.ts";
import type { Batch, InsertFailure, Source } from "../../sources/contract/source.ts";
import type { Intent } from "../durable.ts";
import { Health } from "./health.ts";
import { Runner } from "./runner.ts";

const limits = { sourceOutageMs: 60_000, sourceIdleTimeoutMs: 5_000, destinationOutageMs: 60_000, retryBaseMs: 1 };
const insert = { sql: "INSERT INTO t SELECT 1" };

function batchOf(id: string): Batch {
  return { lane: id, id, replay: { id }, inserts: [insert] };
}

type World = {
  readonly intents: Map<string, Intent>;
  readonly inserted: string[];
  readonly refused: InsertFailure[];
  /** Reads of the intents, by worker. */
  readonly looks: number[];
};

function newWorld(): World {
  return { intents: new Map(), inserted: [], refused: [], looks: [0, 0] };
}

/** A worker over one ledger. `fails` is called before every insert; `source.read` yields the ids. */
function worker(world: World, run: string, index: number, ids: readonly string[], fails: () => Error | undefined) {
  const source: Source = {
    replay: async (replay) => batchOf(String(replay.id)),
    read: async function* () {
      for (const id of ids) yield batchOf(id);
    },
    refused: async (_batch, failure) => {
      world.refused.push(failure);
      return [];
    },
    acknowledge: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const parts = {
    pipeId: "pipe",
    epoch: 0,
    source,
    ledger: {
      begin: async (intent: Intent) => void world.intents.set(intent.batchId, intent),
      replace: async () => {},
      confirm: async ({ batchId }: { batchId: string }) => void world.intents.delete(batchId),
      intents: async () => {
        world.looks[index] = (world.looks[index] ?? 0) + 1;
        return [...world.intents.values()];
      },
      checkpoints: async () => ({}),
    },
    destination: {
      insert: async (_insert: unknown, settings: Readonly<Record<string, string | number>>) => {
        const failure = fails();
        if (failure !== undefined) throw failure;
        world.inserted.push(`${run}/${index} ${settings.insert_deduplication_token}`);
        return { readRows: 0, readBytes: 0, writtenRows: 1, writtenBytes: 1 };
      },
      reject: async () => {},
      crashes: async () => 0,
    },
    health: new Health(limits, () => {}),
    settings: {},
    concurrency: 1,
    ownsTables: false,
    limits,
    worker: { run, index },
    // The first worker owns what earlier runs left.
    isMine: () => index === 0,
  };
  return new Runner(parts, new AbortController().signal);
}

test("an engine that is killed again and again is not a reason to give a batch up", async () => {
  const world = newWorld();
  const failures = [...Array(5).fill(new Error("socket hang up")), new ClickHouseError(499, 500, "Code: 499. Once")];
  await worker(world, "run", 0, ["a"], () => failures.shift()).run();
  expect(world.refused).toEqual([]);
  expect(world.inserted).toEqual(["run/0 pipe:0:a:0"]);
});

test("a worker reads nothing before the batches of earlier workers are durable, whoever replays them", async () => {
  const world = newWorld();
  const frozen = {
    token: "pipe:0:old",
    settings: [{}],
    replay: { id: "old" },
    run: "before",
    replica: 0,
    since: "before",
  };
  world.intents.set("old", { batchId: "old", lane: "old", intent: frozen });
  let ready = false;
  let attempts = 0;
  const fails = () => {
    attempts += 1;
    return ready ? undefined : new Error("socket hang up");
  };
  const first = worker(world, "now", 0, ["a"], fails).run();
  const second = worker(world, "now", 1, ["b"], () => undefined).run();
  // The second has checked for its own intents once, and then repeatedly for those that the first must replay.
  await vi.waitFor(() => expect([attempts >= 3, (world.looks[1] ?? 0) >= 3]).toEqual([true, true]), 60_000);
  expect(world.inserted).toEqual([]);
  ready = true;
  await Promise.all([first, second]);
  expect(world.inserted[0]).toBe("now/0 pipe:0:old:0");
  expect(world.inserted.slice(1).sort()).toEqual(["now/0 pipe:0:a:0", "now/1 pipe:0:b:0"]);
});
