/** Explore by keyboard: charts and rows of a source, filters in both languages, fields, links, and saving. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const hostile = '<img src=x onerror="window.hacked = 1">';

describe.skipIf(chromiumMissing !== undefined)("Explore", () => {
  let console_: ConsoleBrowser;
  let service: BenchService;
  beforeAll(async () => {
    console_ = await openConsole();
    service = await runningService(console_.served, { name: "logs", idleScaling: false });
    await query(
      service,
      "CREATE TABLE logs (Timestamp DateTime64(3), Service String, Level String, Body String) ENGINE = MergeTree ORDER BY Timestamp",
    );
    await query(
      service,
      "INSERT INTO logs SELECT now64(3) - number, if(number % 3 = 0, 'web', 'api'), if(number % 10 = 0, 'error', 'info'), concat('request ', toString(number)) FROM numbers(1800)",
    );
    await query(service, `INSERT INTO logs SELECT now64(3), 'api', 'error', '${hostile}'`);
  });
  afterAll(async () => await console_?.[Symbol.asyncDispose]());
  const eventually = (value: () => unknown) => expect.poll(value, { timeout: 20_000 });
  afterEach(async () => {
    await console_.closePages();
    expect(console_.problems()).toEqual([]);
  });

  const figure = (page: Page) => page.getByRole("figure").first();
  const filter = (page: Page) => page.getByRole("textbox", { name: "Filter of series 1" });
  const type = async (page: Page, name: string, text: string) => {
    await page.getByRole("textbox", { name }).focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
  };

  test("a table with a time column becomes a source, and its rows are text", async () => {
    const { page } = await console_.open("/explore");
    await page.getByRole("button", { name: "Use logs" }).press("Enter");
    // The button goes with the list of tables: the next Tab goes on from what took its place.
    await page.getByLabel("Source", { exact: true }).waitFor();
    await eventually(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
    await page.keyboard.press("Tab");
    expect(await page.getByLabel("Source", { exact: true }).evaluate((it) => it === document.activeElement)).toBe(true);
    await figure(page)
      .getByRole("button", { name: /^count 1,?|^count/ })
      .waitFor();
    const row = page.getByRole("button", { name: /<img src=x onerror/ });
    await row.press("Enter");
    await page.getByRole("button", { name: "Only this Body" }).waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("Tab leads from a row to its details, Esc back to it, and another source leaves the focus where it was", async () => {
    const { page } = await console_.open("/explore");
    const isAt = (one: Locator) => eventually(() => one.evaluate((it) => it === document.activeElement)).toBe(true);
    const rows = page.getByRole("region", { name: "Rows" }).locator("li > button");
    await rows.nth(3).press("Enter");
    await rows.nth(3).press("ArrowDown");
    await page.keyboard.press("Tab");
    await isAt(page.getByRole("button", { name: "Copy row as JSON" }));
    await page.keyboard.press("Escape");
    await isAt(rows.nth(4));
    expect(await page.getByRole("complementary", { name: "Row", exact: true }).count()).toBe(0);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Close the row" }).press("Enter");
    await isAt(rows.nth(4));
    const source = { name: "Second", kind: "log", serviceId: service.id, timestampValueExpression: "Timestamp" };
    const from = { databaseName: "default", tableName: "logs" };
    const made = await observabilityCall(console_.served, "POST", "/api/v2/sources", { ...source, from });
    expect(made.status).toBe(200);
    await page.reload();
    const choice = page.getByLabel("Source", { exact: true });
    await choice.focus();
    await choice.selectOption({ label: "Second" });
    await eventually(() => page.url()).toContain(made.json.data.id);
    await page
      .getByRole("region", { name: "Rows" })
      .getByText(/^100 newest/)
      .waitFor();
    await isAt(choice);
    await observabilityCall(console_.served, "DELETE", `/api/v2/sources/${made.json.data.id}`);
  });

  test("the page of a screen names its code, which is loaded beside the program", async () => {
    const { baseUrl } = console_.served.credentials;
    const linked = async (path: string) => {
      const text = await (await fetch(`${baseUrl}/console${path}`)).text();
      return [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, file = ""]) => file);
    };
    const program = await linked("/");
    const own = (await linked("/explore?from=now-1h")).filter((file) => !program.includes(file));
    expect(own).toEqual(expect.arrayContaining([expect.stringMatching(/explore-page-.*js$/)]));
    const statuses = await Promise.all(own.map(async (file) => (await fetch(`${baseUrl}${file}`)).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await linked("/no-such-screen")).toEqual(program);
  });

  test("a filter in words or SQL applies as it is typed, and a mistake is told at its place", async () => {
    const { page, problems } = await console_.open("/explore");
    await type(page, "Filter of series 1", "Level:error");
    await page
      .getByRole("region", { name: "Rows" })
      .getByText(/^10\d newest|^1[0-9]{2}/)
      .waitFor();
    await type(page, "Filter of series 1", "Level:error AND (");
    await page.getByRole("alert").first().waitFor();
    await page.getByLabel("Language of the filter of series 1").selectOption("sql");
    await type(page, "Filter of series 1", "Level = 'error' AND Service = 'web'");
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Rows" }).getByText(/^60 /).waitFor();
    expect(new Set(problems.splice(0))).toEqual(
      new Set(["400: POST /api/v2/charts/query", "400: POST /api/v2/search"]),
    );
  });

  test("a value of a field becomes a filter, which back and a shared link keep", async () => {
    const { page } = await console_.open("/explore");
    await page.getByRole("button", { name: /^Service / }).press("Enter");
    await page.getByRole("button", { name: "Only Service web" }).press("Enter");
    await eventually(() => filter(page).textContent()).toBe('Service:"web"');
    await eventually(() => page.url()).toContain("web");
    const shared = new URL(page.url());
    const other = await console_.open(shared.pathname.replace("/console", "") + shared.search);
    await eventually(() => filter(other.page).textContent()).toBe('Service:"web"');
    await other.page
      .getByRole("region", { name: "Rows" })
      .getByText(/^100 newest/)
      .waitFor();
  });

  test("the arrow keys read the chart, and Enter shows the rows of a moment", async () => {
    const { page } = await console_.open("/explore");
    const plot = figure(page).getByRole("group");
    await plot.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await figure(page)
      .getByText(/: count \d+$/)
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Rows of the whole range" }).press("Enter");
    await page.getByRole("button", { name: "Older rows" }).waitFor();
  });

  test("a chart is saved to a dashboard", async () => {
    const { page } = await console_.open("/explore");
    await type(page, "Group by", "Level");
    await figure(page)
      .getByRole("button", { name: /^error/ })
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    const save = page.getByRole("dialog").getByRole("button", { name: "Save" });
    await page.getByLabel("Title").fill("  ");
    await page.keyboard.press("Enter");
    expect(await save.getAttribute("aria-description")).toBe("Type a title first.");
    await page.getByLabel("Title").fill("Levels");
    expect(await save.getAttribute("aria-description")).toBeNull();
    await page.keyboard.press("Enter");
    await page.getByText("Levels is on the dashboard.").waitFor();
    await page.goto(`${console_.served.credentials.baseUrl}/console/dashboards`);
    await page.getByRole("link", { name: "Levels" }).press("Enter");
    await page.getByRole("figure", { name: "Levels" }).waitFor();
  });

  test("a row opens beside the list, its fields become columns, and the arrow keys go from row to row", async () => {
    const { page } = await console_.open("/explore");
    const rows = page.getByRole("region", { name: "Rows" });
    const row = rows.getByRole("button", { name: /request 1$/ });
    await row.press("Enter");
    const side = rows.getByRole("complementary", { name: "Row" });
    await side.getByText("request 1", { exact: true }).waitFor();
    await page.keyboard.press("ArrowDown");
    await side.getByText("request 2", { exact: true }).waitFor();
    await side.getByRole("button", { name: "Newer row" }).press("Enter");
    await side.getByText("request 1", { exact: true }).waitFor();
    await side.getByRole("button", { name: "Column Service" }).press("Enter");
    await rows
      .getByRole("button", { name: /\d api$/ })
      .first()
      .waitFor();
    await eventually(() => decodeURIComponent(page.url())).toContain('columns=["Service"]');
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await side.getByRole("button", { name: "Close the row" }).press("Enter");
    await rows.getByRole("button", { name: "Without the column Service" }).press("Enter");
    await row.waitFor();
  });

  test("what is typed while the range of the rows is looked for stays, and so does the range", async () => {
    await query(service, "CREATE TABLE old (at DateTime, level String) ENGINE = MergeTree ORDER BY at");
    await query(service, "INSERT INTO old SELECT toDateTime('2001-03-01 10:00:00') + number, 'info' FROM numbers(60)");
    const from = { databaseName: "default", tableName: "old" };
    const source = { name: "old", kind: "log", serviceId: service.id, from, timestampValueExpression: "at" };
    const { json } = await observabilityCall(console_.served, "POST", "/api/v2/sources", source);
    const { id: sourceId } = (json as { data: { id: string } }).data;
    const { page } = await console_.open("/");
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/api/v2/charts/query", async (route) => {
      if (route.request().postDataJSON().granularity === "30d") await held;
      await route.continue();
    });
    const address = new URLSearchParams({ chart: JSON.stringify({ sourceId }) });
    await page.goto(`${console_.served.credentials.baseUrl}/console/explore?${address}`);
    await page.getByText("No row of this range matches.").waitFor();
    await type(page, "Group by", "level");
    await eventually(() => page.url()).toContain("level");
    release();
    await figure(page).getByRole("button", { name: /^info/ }).waitFor();
    expect(page.url()).toContain("2001-03-01");
    expect(await page.getByRole("textbox", { name: "Group by" }).textContent()).toBe("level");
    await page.getByRole("button", { name: "Sources …" }).press("Enter");
    await page.getByRole("heading", { name: "Tables of logs" }).waitFor();
    expect(await page.getByText("No source yet").count()).toBe(0);
  });

  test("Live shows rows as they come, and keeps the one that is read", async () => {
    const { page } = await console_.open("/explore");
    const rows = page.getByRole("region", { name: "Rows" });
    await rows.getByRole("button", { name: /request 3$/ }).press("Enter");
    await page.getByRole("button", { name: "Live" }).press("Enter");
    await query(service, "INSERT INTO logs SELECT now64(3), 'web', 'info', 'just now'");
    await rows.getByRole("button", { name: /just now$/ }).waitFor();
    await rows.getByRole("complementary", { name: "Row" }).getByText("request 3", { exact: true }).waitFor();
    expect(await rows.getByRole("button", { name: /request 3$/ }).getAttribute("aria-expanded")).toBe("true");
  });

  test("the rows are a few keys away from the choice of the source, and the fields are one stop", async () => {
    const { page } = await console_.open("/explore");
    const isAt = (one: Locator) => eventually(() => one.evaluate((it) => it === document.activeElement)).toBe(true);
    await page.getByLabel("Source", { exact: true }).focus();
    const rows = page.getByRole("region", { name: "Rows" }).locator("li > button");
    await rows.first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await isAt(rows.first());
    await page.keyboard.press("Shift+Tab");
    const fields = page.getByRole("complementary", { name: "Fields" }).locator("li > button");
    await isAt(fields.first());
    await page.keyboard.press("ArrowDown");
    await isAt(fields.nth(1));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab");
    await isAt(fields.nth(1));
  });

  test("a range that is none is told, and nothing seems to wait for its rows", async () => {
    const { page } = await console_.open("/explore?from=tomorrow&to=now");
    await page.getByRole("heading", { name: "This is not a range of time" }).waitFor();
    expect(await page.getByRole("region", { name: "Rows" }).count()).toBe(0);
  });

  test("a narrow screen scrolls in one direction only", async () => {
    const { page } = await console_.open("/explore");
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole("button", { name: "Older rows" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});
