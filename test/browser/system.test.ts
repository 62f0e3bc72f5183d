/** The system in the console, and a server that dies under an open page. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { type Served, serve } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

/** Encrypts backups. */
const secret = Buffer.alloc(32, 7).toString("base64");

describe.skipIf(chromiumMissing !== undefined)("the system in the console", () => {
  let served: Served;
  let opened: ConsoleBrowser;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    served = await serve({ env: { MILLRACE_BACKUP_ENCRYPTION_KEY: secret } });
    opened = await openConsole({ served });
    ({ page, problems } = await opened.open("/system"));
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });
  afterEach(() => expect(opened.problems()).toEqual([]));

  const go = async (path: string) => await page.goto(`${served.credentials.baseUrl}/console${path}`);

  test("loops, disk, limits and configuration are shown, and no secret", async () => {
    await page.getByRole("row", { name: /^backups Well/ }).waitFor();
    await page.getByRole("heading", { name: "No engine runs" }).waitFor();
    await page.getByRole("heading", { name: "No worker runs" }).waitFor();
    await page.getByLabel("Settings", { exact: true }).selectOption("changed");
    await page.getByRole("row", { name: /--backup-encryption-key.*set, not shown.*environment/ }).waitFor();
    expect(await page.getByRole("row", { name: /--rate-limit/ }).count()).toBe(0);
    expect(page.url()).toContain("settings=changed");
    expect(await page.content()).not.toContain(secret);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a phone shows the beginning of each table, and the rest on request", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByLabel("Settings", { exact: true }).selectOption("");
    const table = page.getByRole("region", { name: "Configuration" });
    const rows = () => table.locator("tbody tr:visible").count();
    const height = () => page.evaluate(() => document.documentElement.scrollHeight);
    await expect.poll(rows).toBe(10);
    expect(await height()).toBeLessThan(9_000);
    await table.getByRole("button", { name: /^Show all/ }).click();
    expect(await rows()).toBeGreaterThan(50);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await page.getByRole("region", { name: "Loops" }).getByRole("button").count()).toBe(0);
  });

  test("the diagnostics have what helps, and no secret", async () => {
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download diagnostics" }).click();
    const text = readFileSync(await (await downloading).path(), "utf8");
    expect(JSON.parse(text)).toMatchObject({ system: { version: expect.any(String) }, services: [], pipes: [] });
    expect(text).not.toContain(secret);
    expect(text).not.toContain(served.credentials.keySecret);
  });

  test("a key without the role is told so", async () => {
    const { organizationId } = served.credentials;
    const body = { name: "reader", roles: ["developer" as const] };
    const reader = await served.api.createKey({ params: { organizationId }, body });
    const other = await opened.open("/system", { key: reader });
    await other.page.getByRole("heading", { name: "This key may not see this" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(other.page)).toEqual([]);
    await other.context.close();
    expect(other.problems.splice(0).every((problem) => problem.startsWith("403: GET "))).toBe(true);
  });

  test("the page fits 360 px, and 200 % of zoom", async () => {
    for (const size of [
      { width: 360, height: 740 },
      { width: 640, height: 400 },
    ]) {
      await page.setViewportSize(size);
      await page.getByRole("table", { includeHidden: false }).first().waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a server that is killed: a bar says so, and the same page goes on when it is back", async () => {
    await go("/system");
    await page.getByRole("row", { name: /^backups Well/ }).waitFor();
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
    const port = Number(new URL(served.credentials.baseUrl).port);
    served.process.kill("SIGKILL");
    await page.getByText("Millrace does not answer since").waitFor();
    await page.getByRole("row", { name: /^backups / }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    served = await serve({ dataDir: served.dataDir, port, env: { MILLRACE_BACKUP_ENCRYPTION_KEY: secret } });
    await page.getByText("Millrace does not answer since").waitFor({ state: "detached" });
    await page.getByText(String(served.process.pid), { exact: true }).waitFor();
    expect(await page.evaluate(() => "isSamePage" in globalThis)).toBe(true);
    expect(problems.splice(0).every((problem) => problem.startsWith("failed: "))).toBe(true);
  });
});
