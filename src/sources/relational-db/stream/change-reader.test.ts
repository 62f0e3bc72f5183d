/** The reader of changes, on the stream of a scripted server: what it hands out, and what it lets the server forget. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mappingOf, memoryServer } from "../../../../harness/postgres/memory/config.ts";
import { MemoryDatabase } from "../../../../harness/postgres/memory/database.ts";
import { MemoryReplication } from "../../../../harness/postgres/memory/replication.ts";
import { planOf } from "../../../../harness/postgres/relations.ts";
import { formatLsn, parseLsn } from "../protocol/lsn.ts";
import type { Relation } from "../protocol/pgoutput.ts";
import { createSlot } from "../server/slot.ts";
import { ChangeReader, type ChangeReaderStep } from "./change-reader.ts";

const id = { name: "id", type: "int4", notNull: true } as const;
const note = { name: "note", type: "text", notNull: false } as const;
const limits = { rows: 1_000, bytes: 2 ** 20 };

let database: MemoryDatabase;
let server: MemoryReplication;
/** Where the slot is from the start. */
let start: bigint;
const flushed: bigint[] = [];
let onFlush: () => void;
const stop = new AbortController();
let opened: ChangeReader[] = [];

beforeEach(async () => {
  database = new MemoryDatabase();
  for (const name of ["ours", "foreign"]) database.create({ name, identity: "d", key: ["id"], columns: [id, note] });
  database.published = new Set(["ours", "foreign"]);
  server = await MemoryReplication.start(database, []);
  const slot = await createSlot(memoryServer(server, [mappingOf("ours")]), "slot", false, () => {});
  await slot.close();
  start = parseLsn(slot.lsn);
  flushed.length = 0;
  onFlush = () => {};
  server.onFlush = (lsn) => {
    flushed.push(lsn);
    onFlush();
  };
});

afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  opened = [];
  await server[Symbol.asyncDispose]();
});

type Options = ConstructorParameters<typeof ChangeReader>[2] & { remember?: (lsn: bigint) => Promise<void> };

async function follow({ remember = async () => {}, ...options }: Options = {}, from = formatLsn(start - 1n)) {
  const plans = new Map<string, Relation>();
  const parts = {
    server: memoryServer(server, [mappingOf("ours")]),
    names: { slot: "slot", publication: "p", ownSlot: true, ownPublication: true },
    planOf: (relation: Relation) => (relation.name === "ours" ? planOf(relation) : undefined),
    isOurs: (relation: Relation) => relation.name === "ours",
    fits: (relation: Relation) => {
      const known = plans.get(relation.name) ?? relation;
      plans.set(relation.name, relation);
      return known.columns.length === relation.columns.length;
    },
    remember,
  };
  const made = new ChangeReader(parts, from, { limits, syncMs: 1, ...options });
  opened.push(made);
  await made.open(async () => start, stop.signal);
  return made;
}

/** Resolves when the server has been told something so many times more. */
async function told(times: number): Promise<void> {
  for (let left = times; left > 0; left -= 1) {
    await new Promise<void>((resolve) => {
      onFlush = resolve;
    });
  }
}

async function toldOf(lsn: bigint): Promise<void> {
  while (flushed.at(-1) !== lsn) await told(1);
}

const insert = (table: string, ...keys: string[]) =>
  database.commit((write) => {
    for (const key of keys) write.insert(table, { id: key, note: "x" });
  });
async function next(steps: AsyncGenerator<ChangeReaderStep>): Promise<ChangeReaderStep> {
  return (await steps.next()).value as ChangeReaderStep;
}
function batchOf(step: ChangeReaderStep) {
  if (step.kind !== "batch") throw new Error("a batch was expected");
  return step.batch;
}
const keysOf = (step: ChangeReaderStep) =>
  batchOf(step).inserts.flatMap(({ body }) =>
    String(body?.())
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t")[0]),
  );

describe("the source may forget", () => {
  test("a batch once it is acknowledged, and nothing behind it before", async () => {
    insert("ours", "1");
    const end = database.lsn;
    database.advance();
    const changeReader = await follow();
    const steps = changeReader.steps(stop.signal);
    const step = await next(steps);
    // The server says again and again that its log goes further.
    await told(3);
    expect(new Set(flushed)).toEqual(new Set([start]));
    changeReader.acknowledge(batchOf(step));
    await toldOf(end);
    await toldOf(database.lsn);
  });

  test("what is for others, and only when that has been remembered", async () => {
    insert("foreign", "1");
    let remembered = 0n;
    let free = () => {};
    const remember = (lsn: bigint) =>
      new Promise<void>((resolve) => {
        remembered = lsn;
        free = resolve;
      });
    await follow({ remember });
    await told(2);
    expect(remembered).toBe(database.lsn);
    expect(new Set(flushed)).toEqual(new Set([start]));
    free();
    await toldOf(database.lsn);
  });

  test("nothing that could not be remembered", async () => {
    insert("foreign", "1");
    await follow({ remember: () => Promise.reject(new Error("no store")) });
    await told(3);
    expect(new Set(flushed)).toEqual(new Set([start]));
  });

  test("no less later on: a batch within a transaction does not record what was confirmed long before", async () => {
    const changeReader = await follow({ limits: { rows: 1, bytes: 1 } });
    const steps = changeReader.steps(stop.signal);
    insert("foreign", "1");
    server.send();
    await toldOf(database.lsn);
    insert("ours", "1", "2");
    server.send();
    const first = await next(steps);
    expect(keysOf(first)).toEqual(["1"]);
    expect(batchOf(first).marks).toBeUndefined();
    expect(keysOf(await next(steps))).toEqual(["2"]);
  });
});

describe("changes up to a place", () => {
  test("are batches of their lane that confirm nothing, and the last one ends there", async () => {
    insert("ours", "1");
    const place = batchOf(await next((await follow()).steps(stop.signal))).checkpoint as string;
    await opened.pop()?.close();
    insert("ours", "2");
    flushed.length = 0;
    const changeReader = await follow({ lane: "catchup", holds: true, upTo: place });
    const steps: ChangeReaderStep[] = [];
    for await (const step of changeReader.steps(stop.signal)) {
      changeReader.acknowledge(batchOf(step));
      steps.push(step);
    }
    expect(steps.map(keysOf)).toEqual([["1"]]);
    expect(batchOf(steps[0] as ChangeReaderStep)).toMatchObject({ lane: "catchup", checkpoint: place });
    expect(batchOf(steps[0] as ChangeReaderStep).marks).toBeUndefined();
    expect(flushed.filter((lsn) => lsn >= start)).toEqual([]);
  });
});

describe("a batch", () => {
  test("is built again from its replay alone, whatever was committed since", async () => {
    insert("ours", "1", "2");
    const first = batchOf(await next((await follow()).steps(stop.signal)));
    await opened.pop()?.close();
    insert("ours", "3");
    const { from, to } = first.replay as { from: string; to: string };
    const again = await (await follow({ upTo: to, isReplay: true }, from)).exactly(stop.signal);
    expect(again?.inserts.map(({ sql, body }) => [sql, String(body?.())])).toEqual(
      first.inserts.map(({ sql, body }) => [sql, String(body?.())]),
    );
    expect(again).toMatchObject({ from, to });
  });

  test("whose transaction the source does not have any more ends where the source has told all", async () => {
    database.advance();
    const changeReader = await follow({ upTo: formatLsn(start + 1n), isReplay: true });
    expect(await changeReader.exactly(stop.signal)).toBeUndefined();
  });

  test("is cut where memory ends, and the parts are one transaction", async () => {
    insert("ours", "1", "2", "3");
    const changeReader = await follow({ limits: { rows: 1_000, bytes: 1 } });
    const steps = changeReader.steps(stop.signal);
    expect([await next(steps), await next(steps), await next(steps)].map(keysOf)).toEqual([["1"], ["2"], ["3"]]);
  });
});

test("what follows a change of the table waits until the change is dealt with", async () => {
  insert("ours", "1");
  database.commit((write) => {
    write.addColumn("ours", { name: "more", type: "text", notNull: false });
    write.insert("ours", { id: "2", note: null, more: "m" });
  });
  const steps = (await follow()).steps(stop.signal);
  expect(keysOf(await next(steps))).toEqual(["1"]);
  const barrier = await next(steps);
  expect(barrier).toMatchObject({ kind: "barrier", barrier: { kind: "relation", relation: { name: "ours" } } });
  const last = await next(steps);
  expect(keysOf(last)).toEqual(["2"]);
  expect(batchOf(last).inserts[0]?.sql).toContain("`more`");
});

test("a connection that ends is an outage of the source", async () => {
  const changeReader = await follow();
  const step = changeReader.steps(stop.signal).next();
  server.dropAll();
  await expect(step).rejects.toMatchObject({ code: "SOURCE_UNREACHABLE" });
});
