/** Activity in the console: who did what, filters in the address, one activity to link to, logins. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("activity in the console", () => {
  let opened: ConsoleBrowser;
  let page: Page;
  beforeAll(async () => {
    opened = await openConsole();
    const { organizationId } = opened.served.credentials;
    for (let made = 0; made < 60; made += 1) {
      const body = { name: `bot ${made}`, roles: ["read_only" as const], state: "disabled" as const };
      const { key } = await opened.served.api.createKey({ params: { organizationId }, body });
      const change = {
        params: { organizationId, keyId: key.id },
        body: { name: body.name, roles: ["developer" as const] },
      };
      if (made === 59) await opened.served.api.updateKey(change);
      await opened.served.api.deleteKey({ params: { organizationId, keyId: key.id } });
    }
    ({ page } = await opened.open("/activity"));
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(() => expect(opened.problems()).toEqual([]));

  const go = async (path: string) => await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
  const rows = () => page.getByRole("region", { name: "Activities" }).getByRole("row");

  test("the newest are first, older ones are on pages of their own, and back returns", async () => {
    await page.getByRole("row", { name: /key deleted.*bot 59/i }).waitFor();
    expect(await rows().count()).toBe(101);
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("row", { name: /key created.*bot 0/i }).waitFor();
    expect(page.url()).toContain("cursor=");
    await page.goBack();
    await page.getByRole("row", { name: /key deleted.*bot 59/i }).waitFor();
  });

  test("filters stay in the address, and an empty answer leads back to everything", async () => {
    await page.getByLabel("Who").selectOption("system");
    await page.getByRole("heading", { name: "No activity matches" }).waitFor();
    expect(page.url()).toContain("actor=system");
    await page.reload();
    await page.getByRole("heading", { name: "No activity matches" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Show all" }).click();
    await rows().nth(1).waitFor();
    await page.getByLabel("Kind").selectOption("pipes");
    await page.getByRole("heading", { name: "No activity matches" }).waitFor();
    await page.getByLabel("Kind").selectOption("access");
    await page.getByLabel("Range").selectOption("1h");
    await page
      .getByRole("row", { name: /bot 59/ })
      .first()
      .waitFor();
    expect(page.url()).toContain("group=access");
    expect(page.url()).toContain("range=1h");
  });

  test("an activity opens by keyboard, has an address of its own, and tells no values", async () => {
    const first = page.getByRole("row", { name: /key updated.*bot 59/i }).getByRole("button");
    await first.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Activity" });
    await dialog.getByText("Members set").waitFor();
    const fields = (await dialog.getByRole("definition").allTextContents()).find((text) => text.includes("roles"));
    expect(fields?.split(", ").toSorted()).toEqual(["name", "roles"]);
    await dialog.getByRole("button", { name: "Copy request id" }).waitFor();
    await page.reload();
    await dialog.getByRole("button", { name: "All of this object" }).click();
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => rows().count()).toBe(4);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page
      .getByRole("row", { name: /key updated/i })
      .getByRole("button")
      .click();
    await dialog.getByText("Members set").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("the download has every activity that matches, one on a line", async () => {
    await go("/activity?group=access");
    await rows().nth(1).waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download NDJSON" }).click();
    const lines = readFileSync(await (await downloading).path(), "utf8")
      .trimEnd()
      .split("\n");
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types.filter((type) => type === "key_delete")).toHaveLength(60);
  });

  test("logins and refusals are listed for an admin; others are told the role", async () => {
    const { baseUrl, organizationId, keyId } = opened.served.credentials;
    const authorization = `Basic ${Buffer.from(`${keyId}:wrong`).toString("base64")}`;
    await fetch(`${baseUrl}/v1/organizations/${organizationId}/services`, { headers: { authorization } });
    await go("/activity/logins");
    await page.getByLabel("Type").selectOption("login_refused");
    await page.getByRole("row", { name: /login refused.* Issued at start key/ }).waitFor();
    expect(page.url()).toContain("type=login_refused");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    const reader = await opened.served.api.createKey({
      params: { organizationId },
      body: { name: "reader", roles: ["read_only"] },
    });
    const { page: own, problems, context } = await opened.open("/activity/logins", { key: reader });
    await own.getByRole("heading", { name: "This key may not see this" }).waitFor();
    await context.close();
    expect(problems.splice(0).every((problem) => problem.startsWith("403: GET "))).toBe(true);
  });

  test("the pages fit 360 px", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["/activity", "/activity/logins"]) {
      await go(path);
      await page.getByRole("table").waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    }
  });
});
