/** The SQL screen by keyboard: results, limits, cancelling, errors, drafts, links, and services that sleep. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { type BenchService, query, runningService, serve, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("the SQL screen", () => {
  let console_: ConsoleBrowser;
  let service: BenchService;
  let sleeper: BenchService;
  beforeAll(async () => {
    // A minute of idleTimeoutMinutes lasts 200 ms here.
    const served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "200" } });
    console_ = await openConsole({ served });
    service = await runningService(served, { name: "awake", idleScaling: false });
    sleeper = await runningService(served, { name: "sleeper", idleTimeoutMinutes: 5 });
    await query(service, "CREATE TABLE events (at DateTime, user String, n UInt64) ENGINE = MergeTree ORDER BY at");
    await query(sleeper, "CREATE TABLE quiet (a UInt8) ENGINE = MergeTree ORDER BY a");
  });
  afterAll(async () => {
    await console_?.[Symbol.asyncDispose]();
    await console_?.served[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await console_.closePages();
    expect(console_.problems()).toEqual([]);
  });

  const open = async () => {
    const watched = await console_.open(`/sql?service=${service.id}`);
    await editor(watched.page).waitFor();
    return watched;
  };
  const editor = (page: Page) => page.getByRole("textbox", { name: "Statement" });
  const lines = (page: Page) =>
    editor(page).evaluate((text) => [...text.querySelectorAll(".cm-line")].map((line) => line.textContent));
  const write = async (page: Page, text: string) => {
    await editor(page).focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
  };
  const run = async (page: Page, text: string) => {
    await write(page, text);
    await page.keyboard.press("Control+Enter");
  };
  /** Waits for what the result says of itself: the progress of a statement that runs has words of its own. */
  const status = (page: Page, text: RegExp) =>
    page.getByRole("region", { name: "Result" }).getByRole("status").filter({ hasText: text }).first().waitFor();
  const eventually = (value: () => Promise<unknown>) => expect.poll(value, { timeout: 20_000 });
  const running = async () => (await console_.served.api.listQueries({ params: service.params })).running.length;

  test("64-bit numbers keep their digits, and a cell is read with the keyboard alone", async () => {
    const { page } = await open();
    await run(page, "SELECT toUInt64(-1) AS big, NULL AS nothing, [1, 2] AS list");
    const grid = page.getByRole("grid", { name: "Result" });
    await grid.getByRole("gridcell", { name: "18446744073709551615" }).waitFor();
    await grid.focus();
    for (const key of ["ArrowDown", "End", "Enter"]) await page.keyboard.press(key);
    const dialog = page.getByRole("dialog", { name: "list, row 1" });
    await dialog.getByText("Array(UInt8)").waitFor();
    // The row as a whole, for results that are wider than the window.
    await dialog.getByRole("tab", { name: "Whole row" }).press("Enter");
    const row = page.getByRole("dialog", { name: "Row 1", exact: true });
    await row.getByRole("row", { name: "big UInt64 18446744073709551615" }).waitFor();
    await row.getByRole("button", { name: "Next row" }).and(page.locator("[aria-disabled]")).waitFor();
    await row.getByRole("tab", { name: "Value" }).press("Enter");
    await dialog.getByRole("button", { name: "Close", exact: true }).last().press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a result without end stops at 10,000 rows, ends in the engine, and stays quick", async () => {
    const { page } = await open();
    await run(page, "SELECT * FROM numbers(1e9)");
    await status(page, /stopped at the limit of 10,000 rows/);
    await until("the query has ended in the engine", async () => (await running()) === 0);
    const grid = page.getByRole("grid", { name: "Result" });
    expect(await grid.getAttribute("aria-rowcount")).toBe("10001");
    await grid.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Control+End");
    await grid.getByRole("gridcell", { name: "9999", exact: true }).waitFor();
    // Only the rows in view are elements.
    expect(await grid.getByRole("row").count()).toBeLessThan(100);
  });

  test("of a wide result only the columns in view are elements, and the keyboard reaches all", async () => {
    const { page } = await open();
    const columns = Array.from({ length: 200 }, (_, at) => `${at} AS c${at}`).join(", ");
    await run(page, `SELECT ${columns}`);
    const grid = page.getByRole("grid", { name: "Result" });
    await grid.getByRole("gridcell", { name: "0", exact: true }).waitFor();
    expect(await grid.getAttribute("aria-colcount")).toBe("201");
    await grid.focus();
    for (const key of ["ArrowDown", "End"]) await page.keyboard.press(key);
    const last = grid.getByRole("gridcell", { name: "199", exact: true });
    await last.waitFor();
    expect(await last.getAttribute("aria-colindex")).toBe("201");
    expect(await grid.getAttribute("aria-activedescendant")).toBe(await last.getAttribute("id"));
    // The cell stands below its own header.
    const head = grid.getByRole("columnheader", { name: /^c199/ });
    expect((await last.boundingBox())?.x).toBe((await head.boundingBox())?.x);
    expect(await grid.getByRole("gridcell").count()).toBeLessThan(40);
    await page.keyboard.press("Home");
    await grid.getByRole("gridcell", { name: "0", exact: true }).waitFor();
  });

  test("Esc cancels the query in the engine, and neither before nor after it is there talk of a chart", async () => {
    const { page } = await open();
    await page.getByRole("tab", { name: "Chart" }).press("Enter");
    await run(page, "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))");
    await until("the query runs", async () => (await running()) === 1);
    await page.getByRole("progressbar", { name: "Rows read" }).waitFor();
    expect(await page.getByText("No chart of this result").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByText("The query has ended in the engine.").waitFor();
    await until("the query has ended in the engine", async () => (await running()) === 0);
  });

  test("an error names its code and place, and the text stays", async () => {
    const { page, problems } = await open();
    await run(page, "SELECT 1;\nSELEC 2");
    await page.getByRole("alert").getByText("SYNTAX_ERROR (62)").waitFor();
    expect(await editor(page).textContent()).toContain("SELEC 2");
    // The engine's message is about the second statement.
    await page.getByRole("alert").getByText("failed at position 1 (SELEC)").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await run(page, "SELECT throwIf(number = 5) FROM numbers(10) SETTINGS max_block_size = 1");
    await page.getByRole("alert").getByText("FUNCTION_THROW_IF_VALUE_IS_NON_ZERO (395)").waitFor();
    expect(problems.splice(0)).toEqual([
      `422: POST /v1/organizations/${service.params.organizationId}/services/${service.id}/query`,
    ]);
  });

  test("statements without a result say OK, and the tree shows the new table", async () => {
    const { page } = await open();
    await run(page, "CREATE TABLE made_here (a UInt8) ENGINE = Memory; INSERT INTO made_here VALUES (1), (2)");
    await page.getByText(/No result\. .*2 rows written/).waitFor();
    const table = page.getByRole("button", { name: "made_here", exact: true });
    await table.waitFor();
    await write(page, "SELECT * FROM ");
    await page.keyboard.press("Escape");
    await table.focus();
    for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await page.keyboard.press("Control+Enter");
    await status(page, /^2 rows/);
  });

  test("hostile values and names stay text", async () => {
    const { page } = await open();
    await run(
      page,
      "SELECT '<img src=x onerror=\"window.hacked = 1\"><script>window.hacked = 1</script>' AS `<b>name</b>`",
    );
    await page.getByRole("gridcell", { name: /<img src=x onerror/ }).waitFor();
    await page.getByRole("columnheader", { name: /<b>name<\/b>/ }).waitFor();
    await page.getByRole("grid", { name: "Result" }).focus();
    for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("dialog").getByText("<script>").waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
  });

  test("parameters are inputs, and a shared link carries them and the statement", async () => {
    const { page, context } = await open();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await write(page, "SELECT ifNull({n:Nullable(UInt8)}, 6) + 1 AS sum");
    for (const [value, sum] of Object.entries({ 41: "42", "\\N": "7" })) {
      await page.getByLabel("n", { exact: true }).fill(value);
      await page.getByRole("button", { name: "Run", exact: true }).press("Enter");
      await page.getByRole("gridcell", { name: sum }).waitFor();
    }
    await page.getByRole("button", { name: "Copy a link to the statement" }).press("Enter");
    await page.getByText("The link is copied").waitFor();
    const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
    const other = await console_.open(link.pathname.replace("/console", "") + link.search);
    await eventually(() => editor(other.page).textContent()).toContain("{n:Nullable(UInt8)}");
    expect(await other.page.getByLabel("n", { exact: true }).inputValue()).toBe("\\N");
    expect(other.page.url()).not.toContain("UInt8");
  });

  test("Format rewrites the statement in the engine, and EXPLAIN shows its plan", async () => {
    const { page } = await open();
    await write(page, "select n+1 as m from events where user='a'");
    await page.getByRole("button", { name: "Format the statement" }).press("Enter");
    await eventually(() => lines(page)).toEqual(["SELECT n + 1 AS m", "FROM events", "WHERE user = 'a'"]);
    await page.getByRole("button", { name: "Plan of the statement (EXPLAIN)" }).press("Enter");
    await page
      .getByRole("region", { name: "Result" })
      .getByText(/Filter column/)
      .first()
      .waitFor();
    expect((await lines(page))[0]).toBe("SELECT n + 1 AS m");
  });

  test("a word below the pointer is explained by the service's own engine", async () => {
    const { page } = await open();
    await write(page, "SELECT uniqExact(number) FROM numbers(10)");
    const word = editor(page).getByText("uniqExact");
    const told = async () => {
      const texts = await page.locator(".cm-documentation").allTextContents();
      // The pointer comes anew each time: the words of the engine arrive after the editor.
      await page.mouse.move(0, 0);
      await word.hover();
      return texts;
    };
    const intervals = { interval: 1_000, timeout: 20_000 };
    await expect.poll(told, intervals).toEqual([expect.stringMatching(/^uniqExact\(.*exact number/s)]);
  });

  test("a query is saved by name, opened in another browser, and saved again under the same name", async () => {
    const { page } = await open();
    await write(page, "SELECT 41 + 1 AS answer");
    await page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    await page.getByRole("dialog").getByLabel("Name").fill("The answer");
    await page.keyboard.press("Enter");
    await page.getByText("The answer is saved.").waitFor();

    const other = await open();
    await other.page.getByRole("tab", { name: "Saved" }).press("Enter");
    await other.page
      .getByRole("region", { name: "Saved queries" })
      .getByRole("button", { name: /^The answer/ })
      .click();
    await eventually(() => lines(other.page)).toEqual(["SELECT 41 + 1 AS answer"]);
    await other.page.getByRole("button", { name: "Run", exact: true }).press("Enter");
    await other.page.getByRole("gridcell", { name: "42", exact: true }).waitFor();
    await write(other.page, "SELECT 42 AS answer");
    await other.page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    await other.page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).press("Enter");
    await other.page.getByText("The answer is saved.").waitFor();
    const saved = await console_.served.api.listSavedObjects({
      params: { organizationId: console_.served.credentials.organizationId },
    });
    expect(saved.filter(({ kind, name }) => kind === "query" && name === "The answer")).toHaveLength(1);
  });

  test("the rows of a result are copied as a table and as JSON", async () => {
    const { page, context } = await open();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await run(page, "SELECT number AS n, concat('a\\t', toString(number)) AS s FROM numbers(2)");
    await page.getByRole("gridcell", { name: "1", exact: true }).waitFor();
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    const copy = async (form: RegExp) => {
      await page.getByRole("button", { name: "Copy rows" }).press("Enter");
      await page.getByRole("menuitem", { name: form }).press("Enter");
    };
    await copy(/JSON/);
    await eventually(async () => JSON.parse(await clipboard())).toEqual([
      { n: 0, s: "a\t0" },
      { n: 1, s: "a\t1" },
    ]);
    await copy(/CSV/);
    await eventually(clipboard).toBe("n,s\n0,a\t0\n1,a\t1");
  });

  test("what was typed survives a reload, and another browser finds it as a draft", async () => {
    const { page } = await open();
    await write(page, "SELECT 'kept as a draft'");
    await until("the draft is at the server", async () => {
      const params = { organizationId: service.params.organizationId };
      const drafts = await console_.served.api.listSavedObjects({ params, query: { kind: "draft" } });
      return drafts.some(({ name }) => name.includes("kept as a draft"));
    });
    await page.reload();
    await eventually(() => editor(page).textContent()).toContain("kept as a draft");
    const other = await open();
    await other.page.getByRole("tab", { name: "Saved" }).press("Enter");
    await other.page.getByRole("button", { name: /^SELECT 'kept as a draft'/ }).press("Enter");
    await eventually(() => editor(other.page).textContent()).toContain("kept as a draft");
  });

  test("the whole result is exported, beyond the limit of the page", async () => {
    const { page } = await console_.blank();
    // Without the picker of files, whose window no test can answer.
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, "showSaveFilePicker"));
    await page.goto(await console_.link(`/sql?service=${service.id}`));
    await editor(page).waitFor();
    await run(page, "SELECT number FROM numbers(20000)");
    await status(page, /stopped at the limit/);
    await page.getByRole("button", { name: "Export" }).press("Enter");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "CSVWithNames", exact: true }).press("Enter"),
    ]);
    expect(readFileSync(await download.path(), "utf8").split("\n")).toHaveLength(20_002);
  });

  test("a result is a chart, and the chart is a table; an error is told instead of it", async () => {
    const { page, problems } = await open();
    await run(
      page,
      "SELECT toDateTime('2024-05-01 00:00:00', 'UTC') + number * 60 AS at, number * 2 AS n FROM numbers(30)",
    );
    await status(page, /^30 rows/);
    await page.getByRole("tab", { name: "Chart" }).press("Enter");
    const figure = page.getByRole("figure", { name: "Result" });
    await figure.getByRole("group", { name: "Result" }).focus();
    await page.keyboard.press("End");
    await figure.getByText(/: n 58$/).waitFor();
    await figure.getByRole("button", { name: "View Result as table" }).press("Enter");
    await figure.getByRole("row", { name: /58$/ }).waitFor();
    // A statement that fails tells its error here too.
    await run(page, "SELECT no_such_column");
    await page.getByRole("tabpanel", { name: "Chart" }).getByRole("alert").getByText("UNKNOWN_IDENTIFIER").waitFor();
    problems.length = 0;
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("tables of a service that sleeps are there, and only Run wakes it", async () => {
    const { api } = console_.served;
    const state = async () => (await api.getService({ params: sleeper.params })).state;
    await until("the service sleeps", async () => (await state()) === "idle");
    const { page } = await console_.open(`/sql?service=${sleeper.id}`);
    await page.getByRole("button", { name: "quiet", exact: true }).press("Enter");
    await page.getByText(/Kept from when the service ran/).waitFor();
    await page.getByRole("tab", { name: "History" }).press("Enter");
    await page.getByText(/The service does not run; this is from|Nothing is known yet/).waitFor();
    expect(await state()).toBe("idle");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await run(page, "SELECT count() AS c FROM quiet");
    await page.getByRole("gridcell", { name: "0" }).waitFor();
  });

  test("own statements come first with their outcomes, in another browser, and after the service has slept", async () => {
    const first = await console_.open(`/sql?service=${sleeper.id}`);
    await editor(first.page).waitFor();
    await run(first.page, "SELECT number AS history_limited FROM numbers(20000)");
    await status(first.page, /stopped at the limit/);
    await run(first.page, "SELECT history_failed");
    await status(first.page, /Failed after/);
    first.problems.length = 0;
    await run(first.page, "SELECT 7 AS history_done");
    await status(first.page, /^1 row\b/);
    await until("the service sleeps", async () => {
      return (await console_.served.api.getService({ params: sleeper.params })).state === "idle";
    });
    const { page } = await console_.open(`/sql?service=${sleeper.id}`);
    await page.getByRole("tab", { name: "History" }).press("Enter");
    const own = page.getByRole("region", { name: "Your statements" });
    await eventually(async () => (await own.getByRole("button").allTextContents()).slice(0, 3)).toEqual([
      expect.stringMatching(/history_done *done · 1 row\b/),
      expect.stringMatching(/history_failed *failed · /),
      expect.stringMatching(/history_limited FROM numbers\(20000\) *limited · 10,000 rows/),
    ]);
    // Neither own statements nor those of Millrace, which lists the tables, are those of other clients.
    expect(
      await page
        .getByRole("region", { name: "Other clients" })
        .getByText(/history_|AS kind/)
        .count(),
    ).toBe(0);
    await page.getByRole("tab", { name: "Tables" }).press("Enter");
    await page.getByRole("button", { name: "quiet", exact: true }).focus();
    await page.getByRole("button", { name: "Definition of quiet" }).press("Enter");
    await page.getByRole("dialog").getByText("CREATE TABLE default.quiet").waitFor();
  });

  test("the areas are resized by key and mouse and stay so, and g q leads into the editor", async () => {
    const { page } = await console_.open("/");
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await editor(page).waitFor();
    await expect.poll(() => editor(page).evaluate((text) => text === document.activeElement)).toBe(true);
    const side = page.getByRole("complementary", { name: "Tables and queries" });
    const width = async () => (await side.boundingBox())?.width ?? 0;
    const before = await width();
    const bar = page.getByRole("separator", { name: "Width of tables" });
    await bar.press("ArrowRight");
    expect(await width()).toBe(before + 24);
    const box = (await bar.boundingBox()) as { x: number; y: number };
    await page.mouse.move(box.x + 2, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 102, box.y + 100);
    await page.mouse.up();
    expect(await width()).toBe(before + 124);
    await page.reload();
    await editor(page).waitFor();
    expect(await width()).toBe(before + 124);
  });

  test("a narrow screen scrolls in one direction only", async () => {
    const { page } = await open();
    await page.setViewportSize({ width: 360, height: 800 });
    await run(page, "SELECT number, toString(number) AS text FROM numbers(50)");
    await status(page, /^50 rows/);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await page.getByRole("button", { name: "Tables and queries" }).press("Enter");
    await page.getByRole("button", { name: "events", exact: true }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});
