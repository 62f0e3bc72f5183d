/** Keys, access tokens and sessions in the console. */
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

describe.skipIf(chromiumMissing !== undefined)("access in the console", () => {
  let opened: ConsoleBrowser;
  let page: Page;
  let problems: string[];
  let created: { readonly keyId: string; readonly keySecret: string };
  beforeAll(async () => {
    opened = await openConsole();
    ({ page, problems } = await opened.open("/access"));
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(() => expect(opened.problems()).toEqual([]));

  const go = async (path: string) => await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);

  test("the key in use is marked, and can neither disable nor delete itself", async () => {
    const row = page.getByRole("row", { name: /in use here/ });
    await row.getByRole("button", { name: /^Actions of/ }).click();
    for (const name of [/^Disable/, /^Delete/]) {
      const item = page.getByRole("menuitem", { name });
      expect(await item.textContent()).toContain("This page is signed in with this key.");
      expect(await item.getAttribute("aria-disabled")).toBe("true");
    }
    await page.keyboard.press("Escape");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a key is made by keyboard; its secret is shown once, and its file signs in", async () => {
    await page.getByRole("button", { name: "Create key" }).focus();
    await page.keyboard.press("Enter");
    const form = page.getByRole("dialog", { name: "Create an API key" });
    await form.waitFor();
    await page.keyboard.press("Enter");
    await form.getByRole("alert").waitFor();
    expect(problems.splice(0)).toEqual([expect.stringMatching(/^400: POST .*\/keys$/)]);
    await form.getByLabel("Name").fill("night shift");
    await form.getByLabel("Role").selectOption("developer");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await form.getByLabel("Name").press("Enter");
    const dialog = page.getByRole("dialog", { name: "Key night shift" });
    await dialog.waitFor();
    const downloading = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Download" }).click();
    created = JSON.parse(readFileSync(await (await downloading).path(), "utf8"));
    expect(await dialog.getByLabel("Key secret", { exact: true }).inputValue()).toBe(created.keySecret);
    await page.keyboard.press("Escape");
    expect(await dialog.isVisible()).toBe(true);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await dialog.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("row", { name: /night shift/ }).waitFor();
    expect(await page.content()).not.toContain(created.keySecret);
    const other = await opened.open("/services", { key: created });
    await other.page.getByRole("button", { name: /developer/ }).waitFor();
    await other.context.close();
  });

  test("a session that an admin ends is signed out in its browser", async () => {
    const other = await opened.open("/services", { key: created });
    await go("/access/sessions");
    const row = page.getByRole("row", { name: /this one/ });
    await row.getByRole("button", { name: "Sign out" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    for (let left = 2; left > 0; left -= 1) {
      await page
        .getByRole("button", { name: /^End session of .* as night shift$/ })
        .first()
        .click();
      await expect.poll(() => page.getByRole("button", { name: /as night shift$/ }).count()).toBe(left - 1);
    }
    await other.page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    expect(other.problems.splice(0).every((problem) => problem.startsWith("401: "))).toBe(true);
    await other.context.close();
  });

  test("a key that is disabled is refused at once; the filter of states is in the address", async () => {
    await go("/access");
    await page.getByRole("button", { name: "Actions of night shift" }).click();
    await page.getByRole("menuitem", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Disable key" }).click();
    await page.getByRole("row", { name: /night shift.*Disabled/ }).waitFor();
    const { baseUrl, organizationId } = opened.served.credentials;
    const authorization = `Basic ${Buffer.from(`${created.keyId}:${created.keySecret}`).toString("base64")}`;
    const url = `${baseUrl}/v1/organizations/${organizationId}/services`;
    expect((await fetch(url, { headers: { authorization } })).status).toBe(401);
    await page.getByLabel("State").selectOption("disabled");
    await page.getByRole("row", { name: /in use here/ }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("row", { name: /night shift/ }).waitFor();
    expect(await page.getByRole("row", { name: /in use here/ }).count()).toBe(0);
    await page.getByLabel("State").selectOption("");
    await page.getByRole("row", { name: /in use here/ }).waitFor();
  });

  test("an access token is shown once, disabled and deleted", async () => {
    await go("/access/tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("wall screen");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Token wall screen" });
    const token = await dialog.getByLabel("Access token", { exact: true }).inputValue();
    await dialog.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("row", { name: /wall screen/ }).waitFor();
    expect(await page.content()).not.toContain(token);
    await page.getByRole("button", { name: "Actions of wall screen" }).click();
    await page.getByRole("menuitem", { name: "Disable" }).click();
    await page.getByRole("row", { name: /wall screen.*Disabled/ }).waitFor();
    const menu = page.getByRole("button", { name: "Actions of wall screen" });
    const focused = () => page.evaluate(() => document.activeElement?.tagName);
    await menu.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).press("Enter");
    await expect.poll(() => menu.evaluate((button) => button === document.activeElement)).toBe(true);
    await menu.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Delete token" }).press("Enter");
    await page.getByRole("row", { name: /wall screen/ }).waitFor({ state: "detached" });
    // The button that opened the dialog is gone: the next Tab goes on from the table, not from the begin of the page.
    await expect.poll(focused).toBe("SECTION");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a key that may only read is told that keys need an admin, and sees its own session", async () => {
    const { organizationId } = opened.served.credentials;
    const body = { name: "reader", roles: ["read_only" as const] };
    const reader = await opened.served.api.createKey({ params: { organizationId }, body });
    const { page: own, problems: refused, context } = await opened.open("/access", { key: reader });
    await own.getByRole("heading", { name: "This key may not see this" }).waitFor();
    expect(await own.getByRole("button", { name: "Create key" }).getAttribute("aria-description")).toContain("admin");
    expect(await accessibilityProblemsInBothThemes(own)).toEqual([]);
    await own.getByRole("link", { name: "Sessions" }).click();
    await own.getByRole("row", { name: /this one/ }).waitFor();
    expect(await own.getByRole("row").count()).toBe(2);
    await context.close();
    expect(refused.splice(0).every((problem) => problem.startsWith("403: GET "))).toBe(true);
  });

  test("the pages fit 360 px", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["", "/tokens", "/sessions"]) {
      await go(`/access${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    }
  });
});
