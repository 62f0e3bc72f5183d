/** A backup made, looked at and restored by keys alone: how many they are, and where the focus is after each step. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("a backup by keys alone", () => {
  let opened: ConsoleBrowser;
  let service: BenchService;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    opened = await openConsole();
    service = await runningService(opened.served, { name: "orders" });
    await query(service, "CREATE TABLE events (id UInt64) ORDER BY id");
    await query(service, "INSERT INTO events SELECT number FROM numbers(1000)");
    ({ page, problems } = await opened.open("/"));
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());

  /** Presses Tab until the element has the focus, and Enter on it: how many keys these are. */
  async function keysTo(target: Locator, tab = "Tab"): Promise<number> {
    await target.waitFor();
    // On another screen and in a window, the next Tab goes on from its beginning.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.closest("main, [role=dialog]") != null))
      .toBe(true);
    for (let tabs = 0; tabs < 12; tabs += 1) {
      if (await target.evaluate((it) => it === document.activeElement)) {
        await page.keyboard.press("Enter");
        return tabs + 1;
      }
      await page.keyboard.press(tab);
    }
    throw new Error(`12 Tabs do not lead to ${target}`);
  }

  test("is made, looked at and restored into a new service with some 40 keys", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await page.getByRole("heading", { level: 1, name: "Backups" }).waitFor();
    const main = page.getByRole("main");
    const backUp = main.getByRole("button", { name: "Back up now: orders" });
    let keys = 2 + (await keysTo(backUp));
    await main.getByRole("region").getByText("Verified", { exact: true }).waitFor();
    expect(await backUp.evaluate((it) => it === document.activeElement)).toBe(true);
    keys += await keysTo(main.getByRole("link", { name: "orders", exact: true }), "Shift+Tab");
    // The table of the screen that is left has a link of this description too.
    await page.getByRole("heading", { level: 1, name: "Backups of orders" }).waitFor();
    keys += await keysTo(main.getByRole("region", { name: "Backups", exact: true }).getByRole("link").first());
    await page.getByText("Every file was read back").waitFor();
    keys += await keysTo(main.getByRole("link", { name: "Restore" }));
    await page.getByText("a new service, “orders restored”").waitFor();
    keys += await keysTo(main.getByRole("button", { name: "Begin the restore" }));
    keys += await keysTo(page.getByRole("button", { name: "I have kept it: show the progress" }));
    await page.getByText("The rows are there and were counted.").waitFor();
    expect(keys).toBeLessThanOrEqual(42);
    expect(problems).toEqual([]);
  });
});
