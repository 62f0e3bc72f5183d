/** Confirmed batches per second of a metadata store: intent, confirmation and counters, with the fences. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newPipe, newService } from "../harness/new-pipe.ts";
import { type LeasedStores, openStoresOf } from "../src/store/open.ts";
import { costOf, round } from "./bench.ts";

const counts = { fetchedRows: 10, fetchedBytes: 1_000, sentRows: 10, sentBytes: 1_000 };

export type BatchRate = { readonly perSecond: number; readonly cpuUs: number };

/** Measures each width: the number of pipes that make batches at the same time. SQLite without a database. */
export async function batchRates(
  widths: readonly number[],
  seconds: number,
  database?: string,
): Promise<readonly BatchRate[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-batches-"));
  const secretKey = Buffer.alloc(32, 1).toString("base64");
  const stores = await openStoresOf({ dataDir, secretKey, database, role: "server" });
  const serviceId = await newService(stores);
  const pipeIds: string[] = [];
  const pipes = Math.max(...widths);
  for (let at = 0; at < pipes; at += 1) pipeIds.push(await newPipe(stores, serviceId, pipes));
  await stores.leases.claim("pipe", pipeIds);
  const found: BatchRate[] = [];
  for (const width of widths) {
    await stores.renew();
    found.push(await rateOf(stores, pipeIds.slice(0, width), seconds));
  }
  await stores.close();
  rmSync(dataDir, { recursive: true });
  return found;
}

async function rateOf({ ledger }: LeasedStores, pipeIds: readonly string[], seconds: number): Promise<BatchRate> {
  const end = performance.now() + seconds * 1_000;
  let done = 0;
  const work = async (pipeId: string) => {
    for (let at = 0; performance.now() < end; at += 1) {
      const batchId = `${end}-${at}`;
      await ledger.begin(pipeId, { batchId, lane: "l", intent: { token: batchId } });
      await ledger.confirm(pipeId, { batchId, lane: "l", checkpoint: at, marks: {}, counts });
      done += 1;
    }
  };
  const cost = await costOf(() => Promise.all(pipeIds.map(work)));
  return { perSecond: Math.round(done / cost.seconds), cpuUs: round((cost.cpuSeconds * 1e6) / done, 1) };
}
