/**
 * Processor time and memory of the hot paths: of a row of each source, and of a judged statement. Each bound is about
 * half above what was measured; a machine's speed does not change a ratio. Rows of object storage
 * pass through no code of ours: the engine reads the files.
 */
import { createRecordsBatch } from "@platformatic/kafka";
import { describe, expect, test } from "vitest";
import { allocatedBytes, cpuRatio } from "../../harness/cost.ts";
import { Guard } from "../../src/engine/sql/guard.ts";
import {
  kinesisVirtualColumns,
  messagesOf,
  type StreamMessage,
} from "../../src/sources/managed-stream/records/message.ts";
import { emptyMessage, type KafkaMessage, RecordCursor } from "../../src/sources/message-broker/protocol/records.ts";
import { JsonRows } from "../../src/sources/messages/formats/json-rows.ts";
import type { SourceMessage } from "../../src/sources/messages/message.ts";
import { MessageBatch } from "../../src/sources/messages/message-batch.ts";
import { planRows } from "../../src/sources/messages/plan.ts";
import { decode } from "../../src/sources/relational-db/protocol/pgoutput.ts";
import { tupleOf } from "../../src/sources/relational-db/protocol/tuple.ts";
import { TsvRowWriter } from "../../src/sources/relational-db/stream/tsv-rows.ts";

const rows = 5_000;
const columns = [
  { name: "id", type: "UInt64", sourceField: "id" },
  { name: "name", type: "String", sourceField: "name" },
];
const target = { database: "d", table: "t", columns };
const messages = Array.from({ length: rows }, (_, id) =>
  Buffer.from(JSON.stringify({ id, name: `name ${id}`, payload: "x".repeat(150) })),
);

/** The simple way: an object for each message, and its text. */
function plainJson(): number {
  const lines = messages.map((bytes) => {
    const { id, name } = JSON.parse(bytes.toString()) as { id: number; name: string };
    return JSON.stringify({ id, name });
  });
  return Buffer.from(lines.join("\n")).length;
}

const batchOf = <M extends SourceMessage>(encoder: JsonRows<M>) =>
  new MessageBatch<M>({ encoder, origin: "lane", maxMessageBytes: 1_000_000 });

describe("a message of Kafka", () => {
  const data = createRecordsBatch(
    messages.map((value) => ({ topic: "t", key: Buffer.alloc(0), value, headers: new Map(), timestamp: 7n })),
    { compression: "none" },
  ).buffer;
  const encoder = new JsonRows<KafkaMessage>(planRows(target, "JSONEachRow", {}));
  const read = () => {
    const batch = batchOf(encoder);
    const cursor = new RecordCursor(Buffer.from(data), 0, [], { snappy: (one) => one, lz4: (one) => one });
    for (const message = emptyMessage("t", 0); cursor.read(message); ) batch.add(message);
    if (batch.size !== rows) throw new Error(`${batch.size} rows`);
    batch.inserts();
    batch.release();
  };

  test("takes little of the time of the simple way", async () => {
    expect(await cpuRatio(read, plainJson)).toBeLessThan(0.7);
  });

  test("allocates next to nothing", () => {
    expect(allocatedBytes(read) / rows).toBeLessThan(45);
  });
});

describe("a record of Kinesis", () => {
  const records = messages.map((data, id) => ({
    sequence: `4965${id}`.padStart(56, "1"),
    key: "k",
    data,
    arrivalMs: 7,
  }));
  const encoder = new JsonRows<StreamMessage>(planRows(target, "JSONEachRow", kinesisVirtualColumns("s")));
  const read = () => {
    const batch = batchOf(encoder);
    for (const record of records) for (const message of messagesOf("shard", record, "none")) batch.add(message);
    if (batch.size !== rows) throw new Error(`${batch.size} rows`);
    batch.inserts();
    batch.release();
  };

  test("takes less time than the simple way", async () => {
    expect(await cpuRatio(read, plainJson)).toBeLessThan(1.25);
  });

  test("allocates an object and its place", () => {
    expect(allocatedBytes(read) / rows).toBeLessThan(1_500);
  });
});

describe("a change of Postgres", () => {
  const head = Buffer.from([0x49, 0, 0, 0x40, 0x10, 0x4e, 0, 6]);
  const changes = messages.map((_, id) => {
    const values = [
      `${id}`,
      `${id % 1000}`,
      "2024-01-02 03:04:05.678901",
      `name ${id}`,
      `${id}.25`,
      id % 9 ? "a\tb" : null,
    ];
    return Buffer.concat([head, tupleOf(values).message]);
  });
  const read = () => {
    const writer = new TsvRowWriter([0, 1, 2, 3, 4, 5], 6, 1 << 22);
    for (const message of changes) {
      const decoded = decode(message);
      if (decoded.kind === "insert") writer.append(decoded.row, "\t1234567890123456\t0");
    }
    return writer.take().length;
  };
  /** The simple way: an object of strings for each row. */
  const plain = () => {
    const names = ["id", "kind", "at", "name", "price", "note"];
    const lines = changes.map((message) => {
      const row: Record<string, string | null> = {};
      let at = 8;
      for (const name of names) {
        const length = message[at] === 0x6e ? -1 : message.readInt32BE(at + 1);
        row[name] = length < 0 ? null : message.toString("utf8", at + 5, at + 5 + length);
        at += length < 0 ? 1 : 5 + length;
      }
      const texts = names.map((name) => row[name]?.replaceAll("\t", "\\t") ?? "\\N");
      return `${texts.join("\t")}\t1234567890123456\t0\n`;
    });
    return Buffer.from(lines.join("")).length;
  };

  test("takes little of the time of the simple way, which gives as many bytes", async () => {
    expect(read()).toBe(plain());
    expect(await cpuRatio(read, plain)).toBeLessThan(0.7);
  });

  test("allocates what its decoded form needs", () => {
    expect(allocatedBytes(read) / rows).toBeLessThan(360);
  });
});

describe("a statement", () => {
  const texts = Array.from(
    { length: 500 },
    (_, n) => `SELECT count(), avg(a + ${n}) FROM t WHERE b = 'x' AND c IN (1, 2, 3) GROUP BY d ORDER BY d LIMIT 10`,
  );
  /** The engine's answer, which is the text itself. */
  const guardQuery = async (statement: string) =>
    statement.startsWith("SELECT formatQuerySingleLine('")
      ? statement.slice("SELECT formatQuerySingleLine('".length, -"') FORMAT RawBLOB".length).replaceAll("\\'", "'")
      : "";
  const request = (text: string) => ({
    ...{ text: Buffer.from(text), complete: true, params: [], settings: [], readonly: false, get: false },
  });
  const judgeAll = async (guard: Guard) => {
    for (const text of texts) await guard.judge(request(text));
  };
  /** What nobody can do without: the statement's words. */
  const plain = () => {
    let words = 0;
    for (const text of [...texts, ...texts, ...texts, ...texts])
      words += text.match(/'(?:[^'\\]|\\.)*'|\w+|\S/g)?.length ?? 0;
    return words;
  };

  test("that is new is judged in a few times the time in which its words are found", async () => {
    expect(await cpuRatio(() => judgeAll(new Guard({ guardQuery })), plain)).toBeLessThan(7);
  });

  test("that was judged before costs about as much as its words", async () => {
    const guard = new Guard({ guardQuery });
    expect(await cpuRatio(() => judgeAll(guard), plain)).toBeLessThan(1.4);
  });
});
