/** What somebody typed, opened or asked for stays when a request of the page fails. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const stale = "What you see is from";

describe.skipIf(chromiumMissing !== undefined)("requests that fail", () => {
  let opened: ConsoleBrowser;
  let service: BenchService;
  beforeAll(async () => {
    opened = await openConsole();
    service = await runningService(opened.served, { name: "kept", idleScaling: false });
    await query(service, "CREATE TABLE events (at DateTime, n UInt64) ENGINE = MergeTree ORDER BY at");
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(async () => await opened.closePages());

  const fail = (page: Page, url: string | RegExp, status: number) =>
    page.route(url, (route) =>
      route.request().method() === "GET"
        ? route.fulfill({ status, json: { error: "FAILED: Not now.", code: "FAILED" } })
        : route.fallback(),
    );
  const services = /\/organizations\/[^/]+\/services$/;
  const ran = async (page: Page) => {
    await page.getByRole("textbox", { name: "Statement" }).focus();
    await page.keyboard.insertText("SELECT 40 + 2 AS answer");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("gridcell", { name: "42" }).waitFor();
  };

  test.each([503, 404, 403])(
    "a poll answered with %d leaves result, dialog and filter as they were",
    async (status) => {
      const { page } = await opened.open(`/sql?service=${service.id}`);
      await ran(page);
      await page.getByLabel("Find tables and columns").fill("even");
      await page.getByRole("button", { name: "events", exact: true }).focus();
      await page.getByRole("button", { name: "Definition of events" }).press("Enter");
      const dialog = page.getByRole("dialog", { name: "events" });
      await dialog.getByText("MergeTree").first().waitFor();
      const note = page.getByText(status === 404 ? "and does not exist any more" : stale);
      await fail(page, services, status);
      await note.waitFor();
      await page.unroute(services);
      // What is gone is asked for seldom, unless somebody comes back to the page.
      await expect
        .poll(
          async () => {
            await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
            return await note.count();
          },
          { timeout: 60_000 },
        )
        .toBe(0);
      expect(await dialog.getByText("MergeTree").count()).toBeGreaterThan(0);
      await page.keyboard.press("Escape");
      expect(await page.getByRole("gridcell", { name: "42" }).count()).toBe(1);
      expect(await page.getByLabel("Find tables and columns").inputValue()).toBe("even");
    },
  );

  test("code that cannot be loaded is missed at its own place, and comes by trying again", async () => {
    const { page } = await opened.open(`/sql?service=${service.id}`);
    await ran(page);
    const code = /\/assets\/query-history-.*\.js$/;
    await fail(page, code, 503);
    const tab = page.getByRole("tab", { name: "History" });
    await tab.press("Enter");
    await page.getByText("This part of the page could not be loaded.").waitFor();
    expect(await page.getByRole("gridcell", { name: "42" }).count()).toBe(1);
    // The tab keeps the focus while its content is loaded.
    expect(await tab.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.unroute(code);
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.getByRole("tabpanel", { name: "History" }).getByText("SELECT 40 + 2 AS answer").first().waitFor();
  });

  test("a part whose styles cannot be loaded comes with them by trying again", async () => {
    const { page } = await opened.open(`/sql?service=${service.id}`);
    const styles = /\/assets\/shown-result-.*\.css$/;
    await fail(page, styles, 503);
    await page.getByRole("textbox", { name: "Statement" }).focus();
    await page.keyboard.insertText("SELECT 40 + 2 AS answer");
    await page.keyboard.press("Control+Enter");
    await page.getByText("This part of the page could not be loaded.").waitFor();
    await page.unroute(styles);
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.getByRole("gridcell", { name: "42" }).waitFor();
    const links = page.locator("link[rel=stylesheet]");
    expect(await links.evaluateAll((all) => all.filter((one) => !("sheet" in one && one.sheet)))).toEqual([]);
  });

  test("a screen whose code cannot be loaded is missed at its own place, and comes whole when the server is back", async () => {
    const { page, context } = await opened.open("/services");
    const main = page.getByRole("main");
    const screen = (name: string) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name });
    await main.getByRole("link", { name: "kept" }).waitFor();
    await context.setOffline(true);
    for (const name of ["Backups", "Overview"]) {
      await screen(name).press("Enter");
      await main.getByText("Millrace does not answer.", { exact: true }).waitFor();
    }
    await main.getByRole("button", { name: "Try again" }).press("Enter");
    await screen("Services").press("Enter");
    await main.getByRole("link", { name: "kept" }).waitFor();
    await context.setOffline(false);
    await page.getByText("Millrace does not answer since").waitFor({ state: "detached" });
    await screen("Backups").press("Enter");
    await main.getByRole("heading", { level: 1, name: "Backups" }).waitFor();
    const styles = page.locator("link[rel=stylesheet]");
    expect(await styles.evaluateAll((all) => all.filter((one) => !("sheet" in one && one.sheet)))).toEqual([]);
    await context.setOffline(true);
    await screen("Dashboards").press("Enter");
    await main.getByText("Millrace does not answer.", { exact: true }).waitFor();
    await context.setOffline(false);
    await main.getByRole("button", { name: "Try again" }).press("Enter");
    await main.getByRole("heading", { level: 1, name: "Dashboards" }).waitFor();
  });

  test("what is typed before the palette's code is there is typed into the palette, which finds what was saved", async () => {
    const { organizationId } = opened.served.credentials;
    const content = { text: "SELECT 'of the year'", params: {} };
    const body = { kind: "query" as const, name: "Yearly totals", content };
    await opened.served.api.createSavedObject({ params: { organizationId }, body });
    const { page } = await opened.open(`/sql?service=${service.id}`);
    const editor = page.getByRole("textbox", { name: "Statement" });
    await editor.focus();
    await page.keyboard.insertText("SELECT 1");
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route(/\/assets\/palette-.*\.js$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("earlx");
    for (const key of ["Backspace", "Enter", "Control+Alt+@", "ArrowDown"]) await page.keyboard.press(key);
    expect(await editor.textContent()).toBe("SELECT 1");
    release();
    const input = page.getByRole("combobox", { name: "Name, id or action" });
    await input.waitFor();
    await page.keyboard.type("y tot");
    expect(await input.inputValue()).toBe("earl@y tot");
    for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "Delete"])
      await page.keyboard.press(key);
    await page.getByRole("option", { name: "Yearly totals" }).waitFor();
    await page.keyboard.press("Enter");
    await editor.getByText("of the year").waitFor();
  });

  test("what others save of a dashboard is told by name, and replaces or is replaced only by a choice", async () => {
    const { api, credentials } = opened.served;
    const params = { organizationId: credentials.organizationId };
    const content = { from: "now-1h", to: "now", panels: [] };
    const { id, version } = await api.createSavedObject({
      params,
      body: { kind: "dashboard", name: "Health", content },
    });
    const { page } = await opened.open(`/dashboards/${id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Name").fill("Health of all");
    const others = { version, name: "Wealth", content };
    await api.updateSavedObject({ params: { ...params, savedObjectId: id }, body: others });
    const answer = page.waitForResponse((response) => response.url().endsWith(id));
    await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
    expect(await (await answer).text()).toContain("Wealth");
    await page.getByRole("heading", { level: 1, name: "Edit Health" }).waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Health of all");
    await page
      .getByRole("alert")
      .getByText(/^\w.* has changed this dashboard .+, while you edit it\./)
      .waitFor();
    const [theirs] = await Promise.all([
      page.context().waitForEvent("page"),
      page.getByRole("link", { name: "Open Wealth as it is now" }).click(),
    ]);
    await theirs.getByRole("heading", { level: 1, name: "Wealth" }).waitFor();
    await theirs.close();
    // Somebody is faster once more: what nobody has seen is not overwritten.
    await api.updateSavedObject({
      params: { ...params, savedObjectId: id },
      body: { ...others, version: 2, name: "Luck" },
    });
    await page.getByRole("button", { name: "Save over it" }).click();
    await page.getByRole("link", { name: "Open Luck as it is now" }).waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Health of all");
    await page.getByRole("button", { name: "Save over it" }).click();
    await page.getByRole("heading", { level: 1, name: "Health of all" }).waitFor();
  });
});
