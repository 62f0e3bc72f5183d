import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPipe } from "../../../harness/new-pipe.ts";
import { openTestStores } from "../../../harness/stores.ts";
import type { Stores } from "../open.ts";
import { keptBatches, recordBatches } from "./pipe-batches.ts";

let dir: string;
let stores: Stores;
let pipeId: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-batches-"));
  stores = await openTestStores(dir);
  pipeId = await newPipe(stores);
});
afterEach(async () => {
  await stores.close();
  rmSync(dir, { recursive: true, force: true });
});

const begin = (batchId: string) => stores.ledger.begin(pipeId, { batchId, lane: "l", intent: {} });
const confirm = (batchId: string, counts: Record<string, number>) =>
  stores.ledger.confirm(pipeId, { batchId, lane: "l", marks: {}, counts });

test("a confirmed batch is listed with its rows and the time of its intent; one without rows is not", async () => {
  await begin("a");
  const [intent] = await stores.db.all<{ created_at: string }>("SELECT created_at FROM pipe_intents");
  await confirm("a", { sentRows: 3, sentBytes: 30, errors: 2 });
  await begin("empty");
  await confirm("empty", { sentRows: 0, sentBytes: 0 });
  await begin("open");
  const listed = await stores.batches.list(pipeId, 10);
  expect(listed).toMatchObject([{ batchId: "a", lane: "l", rows: 3, bytes: 30, refusedRows: 2, replayedRows: 0 }]);
  expect(listed[0]?.startedAt).toBe(intent?.created_at);
});

test("the newest batches of a pipe are kept, in pages", async () => {
  await stores.db.transaction(async (tx) => {
    const batches = Array.from({ length: keptBatches + 5 }, (_, at) => ({
      ...{ pipeId, batchId: `b${at}`, lane: "l", counts: { sentRows: 1 } },
    }));
    await recordBatches(tx, batches.slice(0, keptBatches - 1));
    await recordBatches(tx, batches.slice(keptBatches - 1, -3));
    for (const batch of batches.slice(-3)) await recordBatches(tx, [batch]);
  });
  const first = await stores.batches.list(pipeId, 600);
  const second = await stores.batches.list(pipeId, 600, first.at(-1)?.seq);
  expect(first.length + second.length).toBe(keptBatches);
  expect(first[0]?.batchId).toBe(`b${keptBatches + 4}`);
  expect(second.at(-1)?.batchId).toBe("b5");
});
