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
import { type BenchService, runningService } from "../../harness/serve.ts";

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
    expect(await table.getByRole("columnheader").allTextContents()).toEqual(["Shard", "Behind latest"]);
    const box = await table.evaluate(({ clientHeight, scrollHeight }) => ({ clientHeight, scrollHeight }));
    expect(box.clientHeight).toBeLessThan(box.scrollHeight);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});
