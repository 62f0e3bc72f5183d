/** What a page costs the server and the network while nobody touches it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { startTestStore, type TestStore } from "../../harness/objects/object-store.ts";
import { runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("an overview that nobody touches", () => {
  let opened: ConsoleBrowser;
  let store: TestStore;
  beforeAll(async () => {
    [opened, store] = await Promise.all([openConsole(), startTestStore("flights")]);
    const { params } = await runningService(opened.served, { name: "watched" });
    await store.put("in/1.json", '{"id":1}\n');
    for (const name of ["one", "two"]) {
      const columns = [{ name: "id", type: "Int32" }];
      const destination = { database: "default", table: name, managedTable: true, columns };
      const tableDefinition = { engine: { type: "MergeTree" as const }, sortingKey: ["id"] };
      const url = `${store.endpoint}/${store.bucket}/in/*.json`;
      const source = {
        ...{ type: "s3" as const, url, format: "JSONEachRow" as const, isContinuous: true },
        ...{ authentication: "IAM_USER" as const, accessKey: store.accessKey },
      };
      const body = {
        ...{ name, source: { objectStorage: source }, destination: { ...destination, tableDefinition } },
        fieldMappings: [{ sourceField: "id", destinationField: "id" }],
      };
      await opened.served.api.createPipe({ params, body });
    }
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  test("asks at most 30 times and for 60 kB a minute, and at once when somebody comes back", async () => {
    const { page, context } = await opened.open("/");
    await page.getByRole("link", { name: "two" }).first().waitFor();
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    let [requests, bytes] = [0, 0];
    client.on("Network.requestWillBeSent", () => {
      requests += 1;
    });
    client.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    // Half a minute until the page rests; what was asked before it does not count.
    await page.waitForTimeout(32_000);
    [requests, bytes] = [0, 0];
    await page.waitForTimeout(60_000);
    console.log(`${requests} requests, ${bytes} bytes a minute`);
    expect(requests).toBeGreaterThan(5);
    expect(requests).toBeLessThanOrEqual(30);
    expect(bytes).toBeLessThanOrEqual(60_000);
    const services = page.waitForResponse((response) => /\/services$/.test(new URL(response.url()).pathname));
    const since = performance.now();
    await page.mouse.move(300, 300);
    await services;
    expect(performance.now() - since).toBeLessThan(5_000);
  });
});
