/** The tabs of the SQL screen: what runs in one, and what is shown, belongs to it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { type BenchService, runningService, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("tabs of the SQL screen", () => {
  let console_: ConsoleBrowser;
  let service: BenchService;
  beforeAll(async () => {
    console_ = await openConsole();
    service = await runningService(console_.served, { name: "awake", idleScaling: false });
  });
  afterAll(() => console_?.[Symbol.asyncDispose]());

  test("each tab has its own result and statement, which ends when the tab is closed", async () => {
    const { page, problems } = await console_.open(`/sql?service=${service.id}`);
    page.on("dialog", (dialog) => void dialog.accept());
    const running = async () => (await console_.served.api.listQueries({ params: service.params })).running.length;
    const run = async (text: string) => {
      await page.getByRole("textbox", { name: "Statement" }).focus();
      await page.keyboard.press("Control+A");
      await page.keyboard.insertText(text);
      await page.keyboard.press("Control+Enter");
    };
    await run("SELECT 'of the first'");
    await page.getByRole("gridcell", { name: "of the first" }).waitFor();
    const strip = page.getByRole("navigation", { name: "Statements" });
    await strip.getByRole("button", { name: "New statement" }).press("Enter");
    await page.getByText("No result yet").waitFor();
    await run("SELECT count() FROM numbers(100) WHERE NOT ignore(sleepEachRow(1)) SETTINGS max_block_size = 1");
    await until("the query runs", async () => (await running()) === 1);
    await strip.getByRole("button", { name: "SELECT 'of the first'", exact: true }).press("Enter");
    await page.getByRole("gridcell", { name: "of the first" }).waitFor();
    await run("SELECT 'again'");
    await page.getByRole("gridcell", { name: "again" }).waitFor();
    expect(await running()).toBe(1);
    await strip.getByRole("button", { name: /^Close SELECT count/ }).press("Enter");
    await until("the query of the closed tab has ended", async () => (await running()) === 0);
    expect(problems).toEqual([]);
  });

  test("who signs out leaves no statement to the key that signs in next", async () => {
    const { page } = await console_.open(`/sql?service=${service.id}`);
    const statement = page.getByRole("textbox", { name: "Statement" });
    await statement.focus();
    await page.keyboard.insertText("SELECT 'mine'");
    await page.getByRole("button", { name: /admin$/ }).press("Enter");
    await page.getByRole("menuitem", { name: "Sign out" }).press("Enter");
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
    // Another document: an address that differs in its fragment alone loads nothing.
    await page.goto("about:blank");
    await page.goto(await console_.link(`/sql?service=${service.id}`));
    await statement.waitFor();
    expect(await statement.textContent()).not.toContain("mine");
  });
});
