import { MemoryStream, record } from "../../harness/kinesis/memory-stream.ts";
import { aggregated } from "../../harness/kinesis/pipes.ts";
import { keptMarks, testContext, testDestination } from "../../harness/sources/source-context.ts";
import { type At, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import { childOf } from "../../src/lib/abort.ts";
import type { Source, SourceContext } from "../../src/sources/contract/source.ts";
import { type KinesisDurable, kinesisShapes } from "../../src/sources/managed-stream/declaration/durable.ts";
import { finishedMark } from "../../src/sources/managed-stream/reading/shard-lineage.ts";
import { kinesisVirtualColumns } from "../../src/sources/managed-stream/records/message.ts";
import { StreamSource } from "../../src/sources/managed-stream/source.ts";
import { JsonRows } from "../../src/sources/messages/formats/json-rows.ts";
import { batchLimits } from "../../src/sources/messages/limits.ts";
import { planRows } from "../../src/sources/messages/plan.ts";

const row = (name: string) => `{"a":"${name}"}`;
const bundle = (names: readonly string[]) =>
  aggregated(names.map((name, i) => ({ key: `k${i}`, data: Buffer.from(row(name)) }))).Data;

/** Two shards, one of which was split and its children merged again; plain, aggregated, bad and empty records. */
function stream(): MemoryStream {
  const shard = (id: number, parents: number[], closed: boolean, data: (string | Buffer)[]) => ({
    id: `shardId-${id}`,
    parents: parents.map((parent) => `shardId-${parent}`),
    closed,
    records: data.map((content, index) => record(id, index, content)),
  });
  return new MemoryStream(
    [
      shard(0, [], true, [row("a0"), bundle(["a1", "a2", "a3", "a4", "a5"]), row("a6"), row("unreadable"), row("a7")]),
      shard(1, [], true, [row("b0"), "", row("b1")]),
      shard(2, [0], true, [row("c0"), "not json", row("c1")]),
      shard(3, [0], true, []),
      shard(4, [2, 3], true, [row("d0"), row("d1")]),
    ],
    100,
  );
}

const expected = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "b0", "b1", "c0", "c1", "d0", "d1"];
let lives = 0;

function contextOf(world: World, at: At): SourceContext<KinesisDurable> {
  return testContext({
    ledger: keptMarks<KinesisDurable>(kinesisShapes, world.marks, at, (counts) => world.count(counts)),
    destination: {
      query: async (sql) => {
        if (sql.includes("unreadable")) throw new ClickHouseError(27, 400, "Code: 27. DB::Exception: Cannot parse");
        return [];
      },
    },
  });
}

/** A stream never ends; this one does when the end of every shard is durable. */
function ending(source: StreamSource, world: World, upstream: MemoryStream): Source<KinesisDurable> {
  const isOver = () => upstream.all.every((shard) => world.marks.has(finishedMark(shard.id)));
  return {
    read: async function* (checkpoints, signal) {
      using reading = childOf(signal);
      const timer = setInterval(() => isOver() && reading.abort(), 2);
      yield* source.read(checkpoints, reading.signal);
      clearInterval(timer);
    },
    replay: (replay, signal) => source.replay(replay, signal),
    refused: (batch, failure, signal) => source.refused(batch, failure, signal),
    acknowledge: (batch) => source.acknowledge(batch),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

describeSource("Kinesis", () => {
  const upstream = stream();
  return {
    durable: kinesisShapes,
    open: async (world, at) => {
      lives += 1;
      const source = new StreamSource({
        config: { streamName: "s", region: "us-east-1" },
        context: contextOf(world, at),
        api: upstream,
        fanOut: undefined,
        encoder: new JsonRows(planRows(testDestination, "JSONEachRow", kinesisVirtualColumns("s"))),
        // Each worker has another number of rows per batch, so that batches also end within an aggregated record.
        limits: { ...batchLimits(1, 20), maxRows: 1 + (lives % 4) },
      });
      return ending(source, world, upstream);
    },
    expected: expected.map(row),
    // The record without data.
    skipped: 1,
    rowsOf: async (insert) =>
      String(insert.body?.())
        .split("\n")
        .filter((line) => line !== ""),
    engineError: (rows) => {
      const at = rows.findIndex((line) => line.includes("unreadable"));
      return at < 0
        ? undefined
        : new ClickHouseError(27, 400, `Code: 27. DB::Exception: Cannot parse: (at row ${at + 1})`);
    },
    rejected: 2,
  };
});
