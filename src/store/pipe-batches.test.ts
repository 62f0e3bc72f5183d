import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStores, type Stores } from "./open.ts";
import { keptBatches, recordBatch } from "./pipe-batches.ts";

let dir: string;
let stores: Stores;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-batches-"));
  stores = openStores(dir, Buffer.alloc(32, 1).toString("base64"));
  await stores.db.run("PRAGMA foreign_keys = OFF");
});
afterEach(() => {
  stores.db.close();
  rmSync(dir, { recursive: true, force: true });
});

const begin = (batchId: string) => stores.ledger.begin("p", { batchId, lane: "l", intent: {} });
const confirm = (batchId: string, counts: Record<string, number>) =>
  stores.ledger.confirm("p", { batchId, lane: "l", marks: {}, counts });

test("a confirmed batch is listed with its rows and the time of its intent; one without rows is not", async () => {
  await begin("a");
  const [intent] = await stores.db.all<{ created_at: string }>("SELECT created_at FROM pipe_intents");
  await confirm("a", { sentRows: 3, sentBytes: 30, errors: 2 });
  await begin("empty");
  await confirm("empty", { sentRows: 0, sentBytes: 0 });
  await begin("open");
  const listed = await stores.batches.list("p", 10);
  expect(listed).toMatchObject([{ batchId: "a", lane: "l", rows: 3, bytes: 30, refusedRows: 2, replayedRows: 0 }]);
  expect(listed[0]?.startedAt).toBe(intent?.created_at);
});

test("the newest batches of a pipe are kept, in pages", async () => {
  await stores.db.transaction(async (tx) => {
    for (let at = 0; at < keptBatches + 5; at += 1) {
      await recordBatch(tx, "p", { batchId: `b${at}`, lane: "l", counts: { sentRows: 1 } });
    }
  });
  const first = await stores.batches.list("p", 600);
  const second = await stores.batches.list("p", 600, first.at(-1)?.seq);
  expect(first.length + second.length).toBe(keptBatches);
  expect(first[0]?.batchId).toBe(`b${keptBatches + 4}`);
  expect(second.at(-1)?.batchId).toBe("b5");
});
