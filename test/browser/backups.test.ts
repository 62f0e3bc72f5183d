/** Backups in the console: proof, damage by file, and restores that say beforehand what they do. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { filesBelow } from "../../harness/backups.ts";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { type BenchService, query, runningService, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("backups in the console", () => {
  let opened: ConsoleBrowser;
  let service: BenchService;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    opened = await openConsole();
    ({ page, problems } = await opened.open("/backups"));
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(() => expect(opened.problems()).toEqual([]));

  const go = async (path: string) => await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
  const newest = async () => (await opened.served.api.listBackups({ params: service.params }))[0];
  const backupParams = async () => ({ ...service.params, backupId: (await newest())?.id as string });

  test("without services the page says how backups begin", async () => {
    await page.getByRole("heading", { name: "Nothing to back up yet" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a backup that a button began ends as verified, and its chain is drawn", async () => {
    service = await runningService(opened.served, { name: "orders" });
    await query(service, "CREATE TABLE events (id UInt64) ORDER BY id");
    await query(service, "INSERT INTO events SELECT number FROM numbers(50000)");
    await go(`/backups/${service.id}`);
    await page.getByRole("heading", { name: "No backups yet" }).waitFor();
    await page.getByText("The first backup begins in").waitFor();
    await page.getByRole("button", { name: "Back up now: orders" }).first().click();
    const list = page.getByRole("region", { name: "Backups" });
    await list.getByText("Verified", { exact: true }).waitFor();
    expect(await newest()).toMatchObject({ status: "done", verification: "passed" });
    const chain = page.getByRole("list", { name: "Chain" });
    expect(await chain.getByRole("link", { name: /Full .* verified/ }).count()).toBe(1);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a check with a trial restore is dated on the page of the backup", async () => {
    const { backupId } = await backupParams();
    await go(`/backups/${service.id}/${backupId}`);
    await page.getByText("Every file was read back").waitFor();
    const before = Date.now();
    await page.getByRole("button", { name: "Verify with a trial restore" }).click();
    const params = await backupParams();
    await until("the trial restore is over", async () => {
      const { checkRequested, deepVerifiedAt } = await opened.served.api.getBackup({ params });
      return checkRequested === undefined && Date.parse(deepVerifiedAt ?? "") >= before - 1_000;
    });
    const { deepVerifiedAt } = await opened.served.api.getBackup({ params });
    await page.locator(`dd time[datetime="${deepVerifiedAt}"]`).last().waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a table is restored under another name; the plan says what happens before, the progress after", async () => {
    const { backupId } = await backupParams();
    await go(`/backups/${service.id}/${backupId}/restore`);
    await page.getByText("a new service, “orders restored”").waitFor();
    await page.getByText("Users of the backed-up service are not in the backup").waitFor();
    await page.getByRole("radio", { name: /One table/ }).check();
    await page.getByLabel("As the table").fill("events");
    await page.getByRole("alert").filter({ hasText: "exist" }).waitFor();
    expect(await page.getByRole("button", { name: "Begin the restore" }).getAttribute("aria-disabled")).toBe("true");
    await page.getByLabel("As the table").fill("events_again");
    await page.getByText("default.events_again").waitFor();
    await page.getByText("Users and their passwords stay as they are.").waitFor();
    expect(page.url()).toContain("targetTable=events_again");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.locator('button:not([aria-disabled="true"])', { hasText: "Begin the restore" }).click();
    await page.getByText("The rows are there and were counted.").waitFor();
    expect(await page.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("100");
    expect(await query(service, "SELECT count() FROM events_again")).toBe("50000");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await go(`/backups/${service.id}`);
    await page.getByRole("link", { name: "table default.events as default.events_again" }).waitFor();
  });

  test("everything is restored into a new service, and the page follows it to its end", async () => {
    const { backupId } = await backupParams();
    await go(`/backups/${service.id}/${backupId}/restore`);
    await page.getByText("a new service, “orders restored”").waitFor();
    await page.locator('button:not([aria-disabled="true"])', { hasText: "Begin the restore" }).click();
    const dialog = page.getByRole("dialog", { name: "orders restored is being restored" });
    await dialog.getByRole("textbox", { name: "Password of the user default" }).waitFor();
    await dialog.getByRole("button", { name: "I have kept it: show the progress" }).click();
    await page.getByText("The rows are there and were counted.").waitFor();
    expect(await page.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("100");
    const { organizationId } = opened.served.credentials;
    const all = await opened.served.api.listServices({ params: { organizationId } });
    const restored = all.find(({ name }) => name === "orders restored");
    const params = { organizationId, serviceId: restored?.id as string };
    const { baseUrl, keyId, keySecret } = opened.served.credentials;
    const answer = await fetch(`${baseUrl}/v1/organizations/${organizationId}/services/${params.serviceId}/query`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ query: "SELECT count() FROM events", format: "TSV" }),
    });
    expect((await answer.text()).trim()).toBe("50000");
    await opened.served.api.updateServiceState({ params, body: { command: "stop" } });
  });

  test("the pages fit 360 px, and 200 % of zoom", async () => {
    const { backupId } = await backupParams();
    for (const size of [
      { width: 360, height: 740 },
      { width: 640, height: 400 },
    ]) {
      await page.setViewportSize(size);
      for (const path of ["", `/${service.id}`, `/${service.id}/${backupId}`, `/${service.id}/${backupId}/restore`]) {
        await go(`/backups${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await expect.poll(() => page.getByRole("status", { name: "Loading" }).count()).toBe(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a key that may only read sees the proof, and why it may do nothing", async () => {
    const { organizationId } = opened.served.credentials;
    const body = { name: "reader", roles: ["read_only" as const] };
    const { keyId, keySecret } = await opened.served.api.createKey({ params: { organizationId }, body });
    const { backupId } = await backupParams();
    const reader = await opened.open(`/backups/${service.id}/${backupId}`, { key: { keyId, keySecret } });
    const verify = reader.page.getByRole("button", { name: "Verify", exact: true });
    await verify.waitFor();
    expect(await verify.getAttribute("aria-description")).toContain("Needs the role developer");
    await reader.page.getByRole("link", { name: "Restore" }).click();
    await reader.page.getByRole("heading", { name: "This key may not restore" }).waitFor();
    await reader.context.close();
  });

  test("a flipped byte: the page names the file, and the restore waits for somebody who has read it", async () => {
    const backup = await newest();
    const root = join(opened.served.dataDir, "backups", "services", service.id, backup?.backupName as string);
    const [file] = filesBelow(root).filter((path) => path.endsWith("data.bin"));
    const bytes = readFileSync(file as string);
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
    writeFileSync(file as string, bytes);

    await go(`/backups/${service.id}/${backup?.id}`);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("heading", { name: "Damaged" }).waitFor();
    await page.getByText((file as string).slice((file as string).indexOf("services/"))).waitFor();
    await page.getByText("has other bytes than were stored").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);

    await page.getByRole("link", { name: "Restore" }).click();
    await page.getByRole("radio", { name: /One table/ }).check();
    await page.getByLabel("As the table").fill("events_damaged");
    const begin = page.getByRole("button", { name: "Restore what can be read" });
    await begin.waitFor();
    await begin.focus();
    await page.keyboard.press("Enter");
    expect(await begin.getAttribute("aria-description")).toContain("Read what the check found");
    expect(await opened.served.api.listRestores({ params: service.params })).toHaveLength(1);
    await page.getByRole("checkbox", { name: /I have read this/ }).check();
    await page.locator('button:not([aria-disabled="true"])', { hasText: "Restore what can be read" }).click();
    await page.getByRole("heading", { level: 1, name: "Restore", exact: true }).waitFor();
    expect(await opened.served.api.listRestores({ params: service.params })).toHaveLength(2);
  });

  test("200 changes between lists and details leave neither memory nor elements nor charts behind", async () => {
    const { backupId } = await backupParams();
    await go("/services");
    const visit = async (times: number) => {
      for (let visits = 0; visits < times; visits += 4) {
        await page.getByRole("link", { name: "orders", exact: true }).click();
        await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
        await page.getByRole("figure", { name: "Queries", exact: true }).locator("canvas").waitFor();
        await page.getByRole("link", { name: "Backups", exact: true }).first().click();
        await page.getByRole("link", { name: "orders", exact: true }).click();
        await page.locator(`a[href$="${backupId}"]`).first().waitFor();
        await page.getByRole("link", { name: "Services", exact: true }).first().click();
        await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
      }
      return await leftOn(page);
    };
    const before = await visit(20);
    const after = await visit(200);
    expect(after.usedBytes).toBeLessThan(before.usedBytes * 1.2);
    // Each leak of an element would be there fifty times. One collection may leave some for the next one, as may an
    // answer that is still to come for the page before.
    await expect.poll(async () => (await leftOn(page)).elements).toBeLessThan(before.elements + 50);
    await expect.poll(async () => (await leftOn(page)).detachedCanvases).toBe(0);
  }, 240_000);

  test("a backup that does not exist is called so, without an accessibility problem", async () => {
    await go(`/backups/${service.id}/00000000-0000-4000-8000-000000000000`);
    await page.getByRole("heading", { name: "This does not exist" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    expect(problems.splice(0).every((problem) => problem.startsWith("404: GET "))).toBe(true);
  });
});

/** After a garbage collection. */
async function leftOn(page: Page): Promise<{ usedBytes: number; elements: number; detachedCanvases: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { result: prototype } = await session.send("Runtime.evaluate", { expression: "HTMLCanvasElement.prototype" });
  const prototypeObjectId = prototype.objectId as string;
  const { objects } = await session.send("Runtime.queryObjects", { prototypeObjectId });
  const { result } = await session.send("Runtime.callFunctionOn", {
    objectId: objects.objectId as string,
    functionDeclaration: "function () { return this.filter((canvas) => !canvas.isConnected).length; }",
    returnByValue: true,
  });
  await session.send("Runtime.releaseObject", { objectId: objects.objectId as string });
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes } = await session.send("Memory.getDOMCounters");
  await session.detach();
  return { usedBytes: usedSize, elements: nodes, detachedCanvases: result.value as number };
}
