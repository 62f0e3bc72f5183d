/** The cost of listing a container when most of its blobs are old. */
import { expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { azuriteMissing, startAzurite } from "../../../../harness/objects/azurite.ts";
import { startStoreProxy } from "../../../../harness/objects/store-proxy.ts";
import { AzureStore } from "./azure.ts";

if (azuriteMissing !== undefined) console.log(`skipped: ${azuriteMissing}`);

test.skipIf(azuriteMissing !== undefined)(
  "a poll after the last key asks for what is new, and not for history",
  async () => {
    await using azure = await startAzurite("listed");
    const old = Array.from({ length: 1_020 }, (_, i) => `in/${String(i).padStart(5, "0")} é.json`);
    for (let at = 0; at < old.length; at += 20) {
      await Promise.all(old.slice(at, at + 20).map((key) => azure.put(key, "{}")));
    }
    await azure.put("in/99999.json", "{}");
    await azure.put("out.json", "{}");
    const endpoint = /BlobEndpoint=(http:\/\/[^/]+)/.exec(azure.connectionString)?.[1] as string;
    await using front = await startStoreProxy(endpoint);
    const connectionString = azure.connectionString.replace(endpoint, front.endpoint);
    const location = { store: "azure", container: "listed", pattern: "in/*" } as const;
    const { signal } = new AbortController();
    const config = { connectionString, azureContainerName: "listed", path: "in/*" };
    const newStore = () => new AzureStore(location, config, anyNetwork);
    const store = newStore();
    const first = await store.list("in/", undefined, signal);
    expect(first).toMatchObject({ more: true, last: old[999] });
    const second = await store.list("in/", first.last, signal);
    expect(second.files.map((file) => file.key)).toEqual([...old.slice(1_000), "in/99999.json"]);
    expect(second.more).toBe(false);
    const wholeBytes = front.bytes;
    Object.assign(front, { bytes: 0, answers: 0 });
    const poll = await store.list("in/", old.at(-1), signal);
    expect(poll.files.map((file) => file.key)).toEqual(["in/99999.json"]);
    expect(front.answers).toBe(1);
    expect(front.bytes).toBeLessThan(wholeBytes / 100);
    // A service that does not support the parameter: the same blobs, at the former cost.
    front.refuses = ({ url }) => url?.includes("startfrom") === true;
    const elsewhere = newStore();
    expect((await elsewhere.list("in/", old.at(-1), signal)).files.map((file) => file.key)).toEqual(["in/99999.json"]);
    Object.assign(front, { answers: 0 });
    expect((await elsewhere.list("in/", first.last, signal)).files.length).toBe(21);
    expect(front.answers).toBe(1);
  },
);
