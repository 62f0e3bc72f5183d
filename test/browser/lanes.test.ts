/** Shards, partitions and tables of a pipe: many of them, sorted by the reader, and nothing pushed off the page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { kinesisMissing, startKinesalite, type TestKinesis } from "../../harness/kinesis/kinesis.ts";
import { events, kinesisPipe } from "../../harness/kinesis/pipes.ts";
import { createPipe, untilRows } from "../../harness/pipes.ts";
import { cdcPipe } from "../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../harness/postgres/postgres.ts";
import { type BenchService, runningService, until } from "../../harness/serve.ts";

const missing = chromiumMissing ?? kinesisMissing("kinesalite");
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("shards of a pipe", () => {
  let opened: ConsoleBrowser;
  let kinesis: TestKinesis;
  let service: BenchService;
  beforeAll(async () => {
    [opened, kinesis] = await Promise.all([openConsole(), startKinesalite()]);
    service = await runningService(opened.served, { name: "clicks" });
    await kinesis.createStream("clicks", 40);
    await kinesis.untilActive("clicks");
    await kinesis.put("clicks", events(0, 400));
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await kinesis?.[Symbol.asyncDispose]();
  });

  test("are sorted by a heading, and scroll above what stands below them", async () => {
    const pipeId = await createPipe(opened.served, service, kinesisPipe(kinesis, "clicks"));
    await untilRows(opened.served, service, "clicks", 400);
    const { page, problems } = await opened.open(`/pipes/${service.id}/${pipeId}`);
    const table = page.getByRole("region", { name: "Shards" });
    const first = table.getByRole("row").nth(1);
    await expect.poll(() => table.getByRole("row").count(), { timeout: 60_000 }).toBe(41);
    expect(await first.textContent()).toContain("shardId-000000000000");
    const byShard = table.getByRole("button", { name: "Shard" });
    await byShard.press("Enter");
    await byShard.press("Enter");
    await first.getByText("shardId-000000000039").waitFor();
    expect(await table.getByRole("columnheader").allTextContents()).toEqual(["Shard", "Behind"]);
    const box = await table.evaluate(({ clientHeight, scrollHeight }) => ({ clientHeight, scrollHeight }));
    expect(box.clientHeight).toBeLessThan(box.scrollHeight);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});

const noPostgres = chromiumMissing ?? postgresMissing(18);
if (noPostgres !== undefined) console.log(`skipped: ${noPostgres}`);

describe.skipIf(noPostgres !== undefined)("tables of a pipe", () => {
  let opened: ConsoleBrowser;
  let server: TestPostgres;
  let service: BenchService;
  beforeAll(async () => {
    [opened, server] = await Promise.all([openConsole(), TestPostgres.start()]);
    service = await runningService(opened.served, { name: "shop" });
    for (const table of ["buyers", "orders", "parcels"]) {
      await server.sql(`CREATE TABLE ${table} (id bigint PRIMARY KEY, name text)`);
      await server.sql(`INSERT INTO ${table} SELECT n, 'name' FROM generate_series(1, 20) n`);
    }
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  test("have their changes beside their state, and one that stopped says why and what helps", async () => {
    const pipeId = await cdcPipe(opened.served, service, server, ["buyers", "orders", "parcels"]);
    await untilRows(opened.served, service, "parcels", 20);
    const params = { ...service.params, pipeId };
    const states = async () => (await opened.served.api.getPipe({ params })).tables?.map(({ state }) => state).join();
    await until("all are followed", async () => (await states()) === "Running,Running,Running");
    await server.sql("INSERT INTO buyers SELECT n, 'late' FROM generate_series(21, 22) n");
    await server.sql("INSERT INTO orders SELECT n, 'late' FROM generate_series(21, 40) n");
    await server.sql("ALTER TABLE parcels DROP COLUMN id");
    await server.sql("INSERT INTO parcels (name) VALUES ('without a key')");
    await until("the table stops", async () => (await states()) === "Running,Running,Stopped");

    const { page, problems } = await opened.open(`/pipes/${service.id}/${pipeId}`);
    const table = page.getByRole("region", { name: "Tables of the pipe" });
    await page.getByText(`${server.host}/${server.database}`).waitFor();
    const row = (text: string) => table.getByRole("row").filter({ hasText: text });
    await row("public.parcels").getByText("Its replica identity does not have the column id any more").waitFor();
    expect(await page.getByText("Send the command").count()).toBe(0);
    expect(await row("public.parcels").locator("[data-tone=bad]").textContent()).toBe("Stopped");
    await expect.poll(() => row("public.orders").getByRole("cell").nth(5).textContent()).toBe("20");
    expect(await page.getByRole("heading", { name: "Tables" }).count()).toBe(1);
    await table.getByRole("button", { name: "Inserted" }).press("Enter");
    await table.getByRole("row").nth(1).getByText("public.orders").waitFor();
    expect(await page.getByText("Snapshot parts").or(page.getByText("Parts of the copy")).count()).toBe(0);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});
