/** Batches of the stream: where they may end, and that the same part of the stream is the same batch again. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planOf, relationOf } from "../../../../harness/postgres/relations.ts";
import { formatPosition, parsePosition, versionText } from "../protocol/lsn.ts";
import type { Relation, ReplicationMessage } from "../protocol/pgoutput.ts";
import { tupleOf } from "../protocol/tuple.ts";
import { BatchBuilder, type BatchBuilderLimits, type BuiltBatch } from "./batch-builder.ts";

const unlimited: BatchBuilderLimits = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

const columns = ["id int4", "note text"];
const ours = relationOf(1, "ours", columns, ["id"]);
const second = relationOf(2, "second", columns, ["id"]);
const foreign = relationOf(3, "foreign", columns, ["id"]);

function builder(from = "0/0", limits = unlimited): BatchBuilder {
  const made = new BatchBuilder(parsePosition(from), limits, (relation) =>
    relation.name === "foreign" ? undefined : planOf(relation),
  );
  for (const relation of [ours, second, foreign]) made.pass({ kind: "relation", relation });
  return made;
}

const begin = (lsn: bigint): ReplicationMessage => ({ kind: "begin", finalLsn: lsn, time: 0n, xid: 1 });
const commit = (lsn: bigint): ReplicationMessage => ({ kind: "commit", commitLsn: lsn, endLsn: lsn + 8n, time: 0n });
const insert = (id: string, relation = ours): ReplicationMessage => ({
  kind: "insert",
  relation: relation.oid,
  row: tupleOf([id, "x"]),
});
const truncate = (...relations: Relation[]): ReplicationMessage => {
  const oids = relations.map(({ oid }) => oid);
  return { kind: "truncate", relations: oids, cascade: false, restartIdentity: false };
};

const linesOf = (built: BuiltBatch | undefined) =>
  (built?.inserts ?? []).flatMap(({ target, body }) =>
    String(body?.())
      .split("\n")
      .slice(0, -1)
      .map((line) => `${target} ${line.split("\t")[0]} ${line.split("\t")[2]}`),
  );
const row = (target: string, id: string, lsn: bigint, change: number) =>
  `${target} ${id} ${versionText(lsn, change, true)}`;

function feed(into: BatchBuilder, messages: readonly ReplicationMessage[]): void {
  for (const message of messages) into.push(message);
}

describe("a batch of the stream", () => {
  test("has what follows its beginning only, under the numbers that changes have in their transaction", () => {
    const part = builder("0/64#2");
    feed(part, [begin(99n), insert("a"), commit(99n)]);
    feed(part, [begin(100n), insert("b"), insert("c", foreign), insert("d"), commit(100n)]);
    const built = part.take();
    expect(linesOf(built)).toEqual([row("ours", "d", 100n, 3)]);
    expect(built).toMatchObject({ from: "0/64#2", to: "0/64", end: "0/6C" });
  });

  test("ends with a transaction, however many rows that one has", () => {
    const part = builder("0/0", { ...unlimited, rows: 2 });
    feed(part, [begin(1n), insert("a"), insert("b"), insert("c")]);
    expect(part.full).toBe(false);
    part.push(commit(1n));
    expect(part.full).toBe(true);
  });

  test("is cut within a transaction that does not fit into memory, and then allows no more than what is before it", () => {
    const part = builder("0/0", { ...unlimited, bytes: 1 });
    feed(part, [begin(16n), insert("a", foreign), commit(16n), begin(32n), insert("b")]);
    expect(part.full).toBe(true);
    expect(part.take()).toMatchObject({ from: "0/0", to: "0/20#1", end: "0/18" });
    feed(part, [insert("c"), commit(32n)]);
    expect(part.take()).toMatchObject({ from: "0/20#1", to: "0/20", end: "0/28" });
  });

  test("never allows less than what was confirmed without a batch, or the slot would be further than is known", () => {
    const part = builder("0/0", { ...unlimited, bytes: 1 });
    feed(part, [begin(16n), insert("a", foreign), commit(16n)]);
    part.settle(24n);
    feed(part, [begin(32n), insert("b")]);
    expect(part.take()).toMatchObject({ to: "0/20#1", end: undefined });
    feed(part, [insert("c"), commit(32n)]);
    expect(part.take()).toMatchObject({ to: "0/20", end: "0/28" });
  });

  test("has one insert for each table, in the order of its changes", () => {
    const part = builder();
    feed(part, [begin(1n), insert("a"), insert("b", second), insert("c"), commit(1n)]);
    expect(linesOf(part.take())).toEqual([row("ours", "a", 1n, 1), row("ours", "c", 1n, 3), row("second", "b", 1n, 2)]);
    expect(part.take()).toBeUndefined();
  });

  test("stops before a truncate of a table of the pipe; what follows it begins there", () => {
    const part = builder();
    feed(part, [begin(32n), insert("a")]);
    const barrier = part.push(truncate(ours, foreign));
    expect(barrier).toMatchObject({ kind: "truncate", tables: [{ target: "ours" }], place: { lsn: 32n, change: 2 } });
    expect(part.take()).toMatchObject({ to: "0/20#1" });
    part.pass(barrier as NonNullable<typeof barrier>);
    expect(part.push(truncate(foreign))).toBeUndefined();
    feed(part, [insert("b"), commit(32n)]);
    const after = part.take();
    expect(after).toMatchObject({ from: "0/20#2", to: "0/20" });
    expect(linesOf(after)).toEqual([row("ours", "b", 32n, 4)]);
  });

  test("does not stop at a truncate that it follows", () => {
    const part = builder("0/20#2");
    feed(part, [begin(32n), insert("a")]);
    expect(part.push(truncate(ours))).toBeUndefined();
  });

  test("says which table it does not know by saying nothing of it", () => {
    const part = builder();
    feed(part, [begin(1n), { kind: "insert", relation: 77, row: tupleOf(["a"]) }, commit(1n)]);
    expect(part.take()).toBeUndefined();
    expect(formatPosition(part.at)).toBe("0/1");
  });
});

test("the same part of the stream is the same batch again, wherever it is cut", () => {
  const change = fc.record({ relation: fc.constantFrom(ours, second, foreign), id: fc.integer({ min: 0, max: 9 }) });
  const transactions = fc.array(fc.array(change, { maxLength: 6 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(transactions, fc.array(fc.nat(5), { minLength: 1 }), (script, cuts) => {
      const messages = script.flatMap((changes, index) => {
        const lsn = BigInt(index + 1) * 16n;
        return [begin(lsn), ...changes.map(({ id, relation }) => insert(String(id), relation)), commit(lsn)];
      });
      const parts: BuiltBatch[] = [];
      const once = builder();
      for (const [index, message] of messages.entries()) {
        once.push(message);
        if (index % ((cuts[index % cuts.length] as number) + 1) === 0) parts.push(...[once.take() ?? []].flat());
      }
      parts.push(...[once.take() ?? []].flat());
      for (const part of parts) {
        const again = builder(part.from);
        for (const message of messages) {
          again.push(message);
          if (formatPosition(again.at) === part.to) break;
        }
        const rebuilt = again.take() as BuiltBatch;
        expect(rebuilt.to).toBe(part.to);
        expect(rebuilt.inserts.map(({ sql, key, body }) => [sql, key, String(body?.())])).toEqual(
          part.inserts.map(({ sql, key, body }) => [sql, key, String(body?.())]),
        );
      }
      const all = builder();
      feed(all, messages);
      expect(parts.flatMap(linesOf).toSorted()).toEqual(linesOf(all.take()).toSorted());
    }),
  );
});
