/** A source with several tables gives up the one that the engine refuses, and a lost source ends its pipe. */
import { expect, test } from "vitest";
import { ClickHouseError } from "../../clickhouse/client.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, InsertFailure, Source } from "../../sources/contract/source.ts";
import { Health } from "./health.ts";
import { Runner } from "./runner.ts";

const limits = { sourceOutageMs: 60_000, sourceIdleTimeoutMs: 5_000, destinationOutageMs: 600, retryBaseMs: 1 };
const summary = { readRows: 0, readBytes: 0, writtenRows: 1, writtenBytes: 0 };
const inserts = ["a", "b", "c"].map((key) => ({ sql: key, key }));

class TablesSource implements Source {
  readonly failures: InsertFailure[] = [];
  async *read(checkpoints: ReadonlyMap<string, unknown>): AsyncIterable<Batch> {
    if (!checkpoints.has("lane")) yield await this.replay();
  }
  async replay(): Promise<Batch> {
    return { lane: "lane", id: "1", replay: {}, checkpoint: 1, inserts };
  }
  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    this.failures.push(failure);
    return [{ ...batch, inserts: batch.inserts.filter((_, index) => index !== failure.insert) }];
  }
  async acknowledge(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

function run(source: Source, ownsTables: boolean, done: string[], error: Error) {
  const checkpoints: Record<string, number> = {};
  const runner = new Runner(
    {
      pipeId: "pipe",
      epoch: 0,
      source,
      ledger: {
        begin: async () => {},
        replace: async () => {},
        confirm: async ({ lane }) => void Object.assign(checkpoints, { [lane]: 1 }),
        intents: async () => [],
        checkpoints: async () => checkpoints,
      },
      destination: {
        insert: async ({ sql }, settings) => {
          if (sql === "b") throw error;
          done.push(String(settings.insert_deduplication_token));
          return summary;
        },
        reject: async () => {},
        crashes: async () => 0,
      },
      health: new Health(limits, () => {}),
      settings: {},
      concurrency: 1,
      ownsTables,
      limits,
      worker: { run: "run", index: 0 },
      isMine: () => true,
    },
    new AbortController().signal,
  );
  return runner.run();
}

test("a table that refuses inserts for a while is given up alone, and the tokens of the others stay", async () => {
  const source = new TablesSource();
  const done: string[] = [];
  await run(
    source,
    true,
    done,
    new ClickHouseError(60, 404, "Code: 60. DB::Exception: Table b does not exist. (UNKNOWN_TABLE)"),
  );
  expect(source.failures).toMatchObject([{ kind: "destination", code: 60, insert: 1 }]);
  expect(done).toEqual(["pipe:0:1:a", "pipe:0:1:a", "pipe:0:1:c"]);
});

test("other sources wait for their destination until it fails the pipe", async () => {
  const source = new TablesSource();
  const error = new ClickHouseError(60, 404, "Code: 60. DB::Exception: Table b does not exist. (UNKNOWN_TABLE)");
  await expect(run(source, false, [], error)).rejects.toThrow(/refuses inserts.*gave up after 1 s/);
  expect(source.failures).toEqual([]);
});

test("a source that has lost what it kept fails the pipe at once", async () => {
  const source = new TablesSource();
  // biome-ignore lint/correctness/useYield: it fails before it has anything
  source.read = async function* () {
    throw new AppError("SOURCE_LOST", "the slot is gone");
  };
  await expect(run(source, true, [], new Error("never"))).rejects.toThrow(/^the slot is gone$/);
});
