import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { openTestDatabase } from "../../harness/stores.ts";
import { OrganizationStore } from "../store/access/organizations.ts";
import type { Database } from "../store/database/database.ts";
import { Sealer } from "../store/database/secrets.ts";
import { Ledger } from "../store/pipes/ledger.ts";
import { type PipeSnapshot, PipeSnapshots } from "../store/pipes/pipe-snapshots.ts";
import { PipeStore } from "../store/pipes/pipes.ts";
import { ServiceStore } from "../store/services/services.ts";
import { refusalOf, withPositions } from "./positions.ts";

const signal = new AbortController().signal;
let dir: string;
let db: Database;
let ledger: Ledger;
let pipes: PipeSnapshots;
let store: PipeStore;
let serviceId: string;
let pipeId: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-positions-"));
  db = await openTestDatabase(dir);
  const sealer = new Sealer(randomBytes(32));
  ledger = new Ledger(db);
  pipes = new PipeSnapshots(db, sealer);
  store = new PipeStore(db, sealer);
  serviceId = await newService();
  pipeId = await store.create(
    {
      ...{ serviceId, name: "p", sourceKind: "objectStorage", roles: undefined, fieldMappings: [], scaling: {} },
      ...{
        source: { objectStorage: { url: "http://h/b/*" } },
        secrets: { key: "s3cret" },
        destination: { table: "t" },
        settings: {},
      },
    },
    limits.pipes,
  );
});
afterEach(async () => {
  await db.close();
  rmSync(dir, { recursive: true });
});

let port = 20_000;
async function newService(): Promise<string> {
  const [organization = await new OrganizationStore(db).create("o")] = await new OrganizationStore(db).list();
  return await new ServiceStore(db).create(
    {
      ...{ organizationId: organization.id, name: "s", provider: "local", region: "local", port: port++ },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
}

/** One batch as a pipe delivers it; `rows` represents the destination table. */
async function deliver(batch: number, rows: number[]): Promise<void> {
  const batchId = `b${batch}`;
  await ledger.begin(pipeId, { batchId, lane: "l", intent: { replay: {}, token: batchId } });
  await new Promise((done) => setImmediate(done));
  rows.push(batch);
  await new Promise((done) => setImmediate(done));
  await ledger.confirm(pipeId, {
    batchId,
    lane: "l",
    checkpoint: batch,
    marks: { [batchId]: true },
    counts: {},
  });
}

describe("positions and tables", () => {
  test("fit each other whatever the pipe does meanwhile", async () => {
    const rows: number[] = [];
    let next = 0;
    let feeding = true;
    const lane = async () => {
      while (feeding) await deliver(next++, rows);
    };
    const lanes = [lane(), lane(), lane()];
    for (let round = 0; round < 30; round += 1) {
      let table: number[] = [];
      const [pipe] = await withPositions(
        { ledger, pipes },
        serviceId,
        async (taken) => {
          // The engine chooses its parts somewhere between here and `taken`.
          for (let i = 0; i < round; i += 1) await new Promise((done) => setImmediate(done));
          table = [...rows];
          taken();
        },
        signal,
      );
      const marked = (pipe as PipeSnapshot).marks.map(({ mark_key }) => Number(mark_key.slice(1)));
      expect(marked.toSorted((a, b) => a - b)).toEqual(table.toSorted((a, b) => a - b));
      expect(pipe?.unsettled).toEqual([]);
    }
    feeding = false;
    await Promise.all(lanes);
    expect(rows.length).toBeGreaterThan(30);
  });

  test("the pipe goes on as soon as the tables are chosen, before the backup is complete", async () => {
    const rows: number[] = [];
    await withPositions(
      { ledger, pipes },
      serviceId,
      async (taken) => {
        const delivering = deliver(1, rows);
        taken();
        await delivering;
      },
      signal,
    );
    expect(rows).toEqual([1]);
  });

  test("a failed backup lets the pipe go on", async () => {
    const failing = withPositions({ ledger, pipes }, serviceId, () => Promise.reject(new Error("no")), signal);
    await expect(failing).rejects.toThrow("no");
    await deliver(1, []);
  });

  test("a batch that a stopped pipe left in the air is named, not waited for, and keeps the copy from running", async () => {
    await ledger.begin(pipeId, { batchId: "half", lane: "l", intent: { replay: {} } });
    await store.change(pipeId, { desiredState: "stopped" });
    const [pipe] = await withPositions({ ledger, pipes }, serviceId, async () => {}, signal);
    expect(pipe?.unsettled).toEqual(["half"]);
    expect(refusalOf(pipe as PipeSnapshot)).toMatch(/may be in the table in part/);
  });
});

describe("pipes of a restored service", () => {
  const captured = async () => await pipes.capture(serviceId);

  test("have new ids, a new epoch, the positions, and secrets that open", async () => {
    await deliver(7, []);
    const copyOf = await newService();
    const made = await pipes.recreate(copyOf, await captured(), true, refusalOf);
    const [copy] = await store.listIn(copyOf);
    expect(copy).toMatchObject({ id: made[0]?.id, name: "p", desiredState: "running", epoch: 1, settings: {} });
    expect(copy?.id).not.toBe(pipeId);
    expect(await ledger.checkpoints(copy?.id as string)).toEqual({ l: 7 });
    expect(await ledger.marks(copy?.id as string, ["b7"])).toEqual({ b7: true });
    expect(await store.secrets(copy?.id as string)).toEqual({ key: "s3cret" });
  });

  test("are the same after a second attempt: none is there twice", async () => {
    const copyOf = await newService();
    for (let attempt = 0; attempt < 2; attempt += 1) await pipes.recreate(copyOf, await captured(), false, refusalOf);
    expect(await store.listIn(copyOf)).toHaveLength(1);
  });

  test("whose secrets were sealed elsewhere are made stopped and say so", async () => {
    const elsewhere = new PipeSnapshots(db, new Sealer(randomBytes(32)));
    const copyOf = await newService();
    const [made] = await elsewhere.recreate(copyOf, await captured(), true, refusalOf);
    expect(made?.against).toMatch(/secrets cannot be opened/);
    expect((await store.listIn(copyOf))[0]).toMatchObject({ desiredState: "stopped", lastError: made?.against });
  });

  test.each([
    [
      "a queue whose messages are gone",
      { source_kind: "objectStorage", source: { objectStorage: { queueUrl: "q" } } },
      /queue/,
    ],
    ["a replication slot that moved on", { source_kind: "relationalDb", source: {} }, /slot/],
  ])("are not continued from %s", async (_, change, reason) => {
    const [pipe] = await captured();
    const other = { ...(pipe as PipeSnapshot), ...change, source: JSON.stringify(change.source) };
    expect(refusalOf(other)).toMatch(reason);
  });

  test("that come back in place go back to the backup's positions; younger ones start over", async () => {
    await deliver(1, []);
    const before = await captured();
    await deliver(2, []);
    await pipes.rewind(serviceId, before);
    expect(await ledger.checkpoints(pipeId)).toEqual({ l: 1 });
    expect(await ledger.marks(pipeId, ["b1", "b2"])).toEqual({ b1: true });
    await pipes.rewind(serviceId, []);
    expect(await ledger.checkpoints(pipeId)).toEqual({});
    expect((await store.find(pipeId))?.epoch).toBe(2);
  });
});
