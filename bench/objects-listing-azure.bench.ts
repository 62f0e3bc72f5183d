/** The same as `objects-listing` on Azure's stand-in: one poll after the last key with more and more old blobs. */

import { anyNetwork } from "../harness/network/network.ts";
import { azuriteMissing, startAzurite } from "../harness/objects/azurite.ts";
import { startStoreProxy } from "../harness/objects/store-proxy.ts";
import { AzureStore } from "../src/sources/object-storage/stores/azure.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description =
  "Azure: requests, bytes and ms per poll with 1 k and 10 k old blobs (BLOBS=100000 for more; the stand-in itself looks at every blob)";

const histories = [1_000, 10_000, Number(process.env.BLOBS ?? 0)].filter((blobs) => blobs > 0);
const polls = 20;

export async function run(): Promise<BenchResult> {
  if (azuriteMissing !== undefined) throw new Error(azuriteMissing);
  await using azure = await startAzurite("listed");
  const endpoint = /BlobEndpoint=(http:\/\/[^/]+)/.exec(azure.connectionString)?.[1] as string;
  await using front = await startStoreProxy(endpoint);
  const connectionString = azure.connectionString.replace(endpoint, front.endpoint);
  const location = { store: "azure", container: "listed", pattern: "in/*" } as const;
  const store = new AzureStore(location, { connectionString, azureContainerName: "listed", path: "in/*" }, anyNetwork);
  const key = (index: number) => `in/${String(index).padStart(8, "0")}.json`;
  const rows = [];
  for (let made = 0; rows.length < histories.length; ) {
    const oldBlobs = histories[rows.length] as number;
    for (; made < oldBlobs; made += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => azure.put(key(made + i), "{}")));
    }
    Object.assign(front, { answers: 0, bytes: 0 });
    const times: number[] = [];
    for (let poll = 0; poll < polls; poll += 1) {
      const started = performance.now();
      await store.list("in/", key(oldBlobs - 1), new AbortController().signal);
      times.push(performance.now() - started);
    }
    const perPoll = { requests: front.answers / polls, bytes: Math.round(front.bytes / polls) };
    rows.push({ oldBlobs, ...perPoll, msPerPoll: round(median(times), 2) });
  }
  const [first, last] = [rows[0], rows.at(-1)] as [(typeof rows)[0], (typeof rows)[0]];
  const ends = { bytesWithFew: first.bytes, bytesWithMany: last.bytes, requestsWithMany: last.requests };
  return { rows, summary: { ratio: round(first.msPerPoll / last.msPerPoll, 2), ...ends } };
}
