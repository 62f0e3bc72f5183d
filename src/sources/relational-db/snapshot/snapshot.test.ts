/** The copy of a table from a scripted server: which rows come, in what order, and what is said to be done. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mappingOf, memoryServer } from "../../../../harness/postgres/memory/config.ts";
import { MemoryDatabase } from "../../../../harness/postgres/memory/database.ts";
import { MemoryReplication } from "../../../../harness/postgres/memory/replication.ts";
import { keptMarks, type OwnContext, testContext } from "../../../../harness/sources/source-context.ts";
import type { Json } from "../../../lib/json.ts";
import type { Batch as AnyBatch } from "../../contract/source.ts";
import { type PostgresDurable, postgresShapes } from "../declaration/durable.ts";
import { readTables } from "../server/catalog.ts";
import { connect } from "../server/connection.ts";
import { createSlot, type ExportedSnapshot, temporarySnapshot } from "../server/slot.ts";
import { planTable } from "../tables/tables.ts";
import { SnapshotCopy } from "./snapshot.ts";

const id = { name: "id", type: "int4", notNull: true } as const;
const note = { name: "note", type: "text", notNull: false } as const;
type Batch = AnyBatch<PostgresDurable>;
const signal = new AbortController().signal;

let database: MemoryDatabase;
let server: MemoryReplication;
let marks: Map<string, Json>;

beforeEach(async () => {
  database = new MemoryDatabase();
  database.create({ name: "t", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "p", identity: "d", key: ["id"], columns: [id, note], leaves: ["p_0", "p_1"] });
  database.commit((write) => {
    for (let at = 1; at <= 12; at += 1) write.insert("t", { id: `${at}`, note: `t${at}` });
    for (let at = 1; at <= 5; at += 1) write.insert("p", { id: `${at}`, note: `p${at}` });
  });
  server = await MemoryReplication.start(database, []);
  marks = new Map();
});
afterEach(async () => await server[Symbol.asyncDispose]());

const config = () => memoryServer(server, [mappingOf("t"), mappingOf("p")]);

async function copyOf(snapshot: ExportedSnapshot, own: OwnContext<PostgresDurable> = {}) {
  const context = testContext<PostgresDurable>({ ledger: keptMarks<PostgresDurable>(postgresShapes, marks), ...own });
  const client = await connect(config());
  const tables = await readTables(client, [
    { schema: "public", name: "t" },
    { schema: "public", name: "p" },
  ]);
  const copied = tables.map((table) => {
    const plan = planTable(table, mappingOf(table.name), "default", { nullable: true, hardDelete: false });
    return { plan, copyId: "c", into: table.name, isExact: true };
  });
  const copy = new SnapshotCopy(config(), context, copied);
  const work = await copy.work(client);
  await client.end();
  return { copy, batches: copy.read(work, snapshot, signal) };
}

const first = () => createSlot(config(), "slot", false, () => {});
const later = () =>
  temporarySnapshot(
    config(),
    async () => {},
    () => {},
  );

/** Rows are taken from a batch before it is acknowledged: its memory is used again afterwards. */
type Seen = { readonly lane: string; readonly rows: readonly string[]; readonly marks: readonly string[] };
function seen({ lane, inserts, marks: done }: Batch): Seen {
  const lines = inserts.flatMap(({ body }) => String(body?.()).split("\n").slice(0, -1));
  return { lane, rows: lines.map((line) => line.replaceAll("\t", " ")), marks: Object.keys(done ?? {}) };
}

/** All batches, each durable as soon as it is there; those that `isLost` accepts never become so. */
async function all(of: Awaited<ReturnType<typeof copyOf>>, isLost = (_batch: Seen) => false): Promise<Seen[]> {
  const found: Seen[] = [];
  for await (const batch of of.batches) {
    const one = seen(batch);
    found.push(one);
    if (isLost(one)) break;
    for (const mark of one.marks) marks.set(mark, true);
    of.copy.acknowledge(batch);
  }
  return found;
}

const rowsOf = (batches: readonly Seen[]) => batches.flatMap(({ rows }) => rows).toSorted();
const expected = (...tables: string[]) =>
  tables.flatMap((name) => database.rows(name).map(({ row }) => `${row.id} ${row.note}`)).toSorted();

describe("a copy", () => {
  test("has every row of every table and partition once, as of its snapshot", async () => {
    const snapshot = await first();
    const wanted = expected("t", "p");
    database.commit((write) => {
      write.delete("t", "1");
      write.update("t", "2", { note: "later" });
      write.insert("p", { id: "9", note: "later" });
    });
    const batches = await all(await copyOf(snapshot));
    expect(rowsOf(batches)).toEqual(wanted);
    expect(new Set(batches.filter(({ rows }) => rows.length > 0).map(({ lane }) => lane)).size).toBeGreaterThan(3);
    await snapshot.close();
  });

  test("says that a range is done with its last rows only, however small its pieces are", async () => {
    const snapshot = await first();
    // A chunk for each row.
    const batches = await all(await copyOf(snapshot, { memoryGb: 0.000_000_1 }));
    const lanes = Map.groupBy(batches, ({ lane }) => lane);
    expect([...lanes.values()].some((list) => list.filter(({ rows }) => rows.length > 0).length > 1)).toBe(true);
    for (const list of lanes.values()) {
      const withRows = list.filter(({ rows }) => rows.length > 0);
      expect(withRows.slice(0, -1).flatMap((batch) => batch.marks)).toEqual([]);
    }
    expect(rowsOf(batches)).toEqual(expected("t", "p"));
    await snapshot.close();
  });

  test("reads no further than the batches that may be open allow", async () => {
    const snapshot = await first();
    const { copy, batches } = await copyOf(snapshot, { concurrency: 1 });
    const open: Batch[] = [];
    const take = async () => {
      const { value } = await batches.next();
      open.push(value as Batch);
    };
    await take();
    await take();
    const third = take();
    expect(
      await Promise.race([
        third.then(() => "more"),
        connect(config()).then(async (client) => {
          // A round trip to the server, which has sent everything by then.
          await client.end();
          return "none";
        }),
      ]),
    ).toBe("none");
    copy.acknowledge(open[0] as Batch);
    await third;
    expect(open).toHaveLength(3);
    await batches.return(undefined);
    await snapshot.close();
  });
});

describe("a copy that goes on in a later snapshot", () => {
  test("copies what is not done, and of what is done only rows that came into it since, with a newer version", async () => {
    const one = await first();
    // The second range of `t` is not durable when the worker ends.
    const before = await all(await copyOf(one), ({ marks: done }) => done.includes("snapshot:t:c:1"));
    await one.close();
    const done = before
      .filter(({ marks: of }) => of.length > 0 && of[0] !== "snapshot:t:c:1")
      .flatMap(({ rows }) => rows);
    expect(done).toContain("1 t1");
    database.commit((write) => {
      // Out of a range that is not done, into the place of a row in one that is.
      write.delete("t", "1");
      write.update("t", "8", { note: "moved" });
    });
    const two = await later();
    const after = await all(await copyOf(two));
    await two.close();
    const moved = after.filter(({ lane }) => lane.endsWith(":moved"));
    expect(rowsOf(moved)).toEqual([`8 moved ${two.version} 0`]);
    const names = (rows: readonly string[]) => rows.map((row) => row.split(" ").slice(0, 2).join(" "));
    const all2 = [...names(done), ...names(rowsOf(after))].filter((row) => row !== "1 t1");
    expect(all2.toSorted()).toEqual(expected("t", "p"));
  });

  test("cuts the tables as before, although they have grown", async () => {
    const one = await first();
    await all(await copyOf(one), () => true);
    await one.close();
    const cut = structuredClone(marks.get("cut:t:c"));
    database.commit((write) => {
      for (let at = 100; at < 120; at += 1) write.insert("t", { id: `${at}`, note: "grown" });
    });
    const two = await later();
    const batches = await all(await copyOf(two));
    await two.close();
    expect(marks.get("cut:t:c")).toEqual(cut);
    const names = rowsOf(batches).map((row) => row.split(" ").slice(0, 2).join(" "));
    expect(names).toEqual(expected("t", "p"));
  });
});
