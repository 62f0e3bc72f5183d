/** Dashboards by keyboard: templates, places of charts, ranges, files, and services that sleep. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { type BenchService, query, runningService, serve, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("dashboards", () => {
  let console_: ConsoleBrowser;
  let service: BenchService;
  beforeAll(async () => {
    // A minute of idleTimeoutMinutes lasts 200 ms here.
    const served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "200" } });
    console_ = await openConsole({ served });
    service = await runningService(served, { name: "logs", idleTimeoutMinutes: 5 });
    await query(service, "CREATE TABLE logs (at DateTime, level String) ENGINE = MergeTree ORDER BY at");
    await query(
      service,
      "INSERT INTO logs SELECT now() - number, if(number % 5 = 0, 'error', 'info') FROM numbers(600)",
    );
    const source = {
      name: "logs",
      kind: "log",
      serviceId: service.id,
      from: { databaseName: "default", tableName: "logs" },
      timestampValueExpression: "at",
      severityTextExpression: "level",
    };
    expect((await observabilityCall(served, "POST", "/api/v2/sources", source)).status).toBe(200);
  });
  afterAll(async () => {
    await console_?.[Symbol.asyncDispose]();
    await console_?.served[Symbol.asyncDispose]();
  });
  const eventually = (value: () => unknown) => expect.poll(value, { timeout: 20_000 });
  // A chart of a service that sleeps, and was not asked for before, is answered like this.
  const asleep = "409: POST /api/v2/charts/query";
  // So are fields, their values and rows.
  const isExpected = (problem: string) =>
    problem === asleep || /^409: (GET .*\/field(s|Values)|POST \/api\/v2\/search|POST \/v1\/.*\/query)$/.test(problem);
  afterEach(async () => {
    await console_.closePages();
    expect(console_.problems().filter((problem) => !isExpected(problem))).toEqual([]);
  });

  const state = async () => (await console_.served.api.getService({ params: service.params })).state;

  test("a dashboard that refreshes itself lets the service sleep, and only its button wakes it", async () => {
    const { page, problems } = await console_.open("/dashboards");
    await until("the service sleeps", async () => (await state()) === "idle");
    await page.getByRole("button", { name: "New dashboard" }).first().press("Enter");
    await page.getByLabel("Begin with").selectOption({ label: "Source logs" });
    await page.getByLabel("Name").fill("Health of logs");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Health of logs" }).waitFor();
    await page.getByLabel("Refresh", { exact: true }).selectOption("10s");
    await page.getByText("logs sleeps.").first().waitFor();
    expect(await state()).toBe("idle");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Wake and ask" }).first().press("Enter");
    await page.getByText("600", { exact: true }).waitFor();
    const title = await page.getByRole("heading", { name: "Rows over time" }).boundingBox();
    const tools = await page.getByRole("button", { name: "View Rows over time as table" }).boundingBox();
    expect(tools?.x).toBeGreaterThan((title?.x ?? 0) + (title?.width ?? 0));
    expect(problems).toContain(asleep);
  });

  test("a stopped service is called stopped, keeps its last answers with their age, and is started where it is missed", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Health of logs" }).press("Enter");
    const wake = page.getByRole("button", { name: "Wake and ask" }).first();
    await wake.or(page.getByRole("figure").first()).first().waitFor();
    if (await wake.isVisible()) await wake.press("Enter");
    await page.getByRole("figure").first().waitFor();
    const { api } = console_.served;
    await api.updateServiceState({ params: service.params, body: { command: "stop" } });
    await until("the service is stopped", async () => (await state()) === "stopped");
    await page.getByRole("button", { name: "Time range: Last hour" }).press("Enter");
    await page.getByRole("menuitem", { name: "Last 6 hours" }).press("Enter");
    await page.getByText("logs is stopped.").first().waitFor();
    await page.getByText("This is from").first().waitFor();
    expect(await page.getByRole("figure").count()).toBeGreaterThan(0);
    expect(await page.getByText("sleeps").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Wake and ask" }).count()).toBe(0);
    await page.getByRole("link", { name: "Explore", exact: true }).click();
    await page.getByText("logs is stopped.").first().waitFor();
    await page.getByRole("link", { name: "SQL", exact: true }).click();
    await page.getByRole("textbox", { name: "Statement" }).waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).press("Enter");
    await until("the service runs", async () => (await state()) === "running");
    await page.getByText("logs is stopped.").waitFor({ state: "detached" });
  });

  test("charts move and grow by keys, a range stays in the address, and a file brings all of it back", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Health of logs" }).press("Enter");
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    const places = () =>
      page.getByRole("toolbar").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    expect((await places()).slice(0, 2)).toEqual(["Tools of Rows", "Tools of Rows over time"]);
    await page.getByRole("button", { name: "Drag Rows", exact: true }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText("Rows is at place 2 of 3.").waitFor();
    await page.getByRole("button", { name: "Size of Rows", exact: true }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await page.getByText("Rows is 4 of 12 columns wide and 280 pixels high.").waitFor();
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Health of logs", exact: true }).waitFor();
    await page.getByRole("button", { name: "Time range: Last hour" }).press("Enter");
    await page.getByRole("menuitem", { name: "Last 6 hours" }).press("Enter");
    await eventually(() => page.url()).toContain("from=now-6h");
    await page.reload();
    await page.getByRole("button", { name: "Time range: Last 6 hours" }).waitFor();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as JSON" }).press("Enter"),
    ]);
    const exported = readFileSync(await download.path(), "utf8");
    expect(
      JSON.parse(exported)
        .panels.map(({ title }: { title: string }) => title)
        .slice(0, 2),
    ).toEqual(["Rows over time", "Rows"]);
    const file = join(console_.served.dataDir, "exported.json");
    writeFileSync(file, exported.replace("Health of logs", "Brought back"));
    await page.goto(`${console_.served.credentials.baseUrl}/console/dashboards`);
    await page.getByLabel("File of a dashboard").setInputFiles(file);
    await page.getByRole("heading", { level: 1, name: "Brought back" }).waitFor();
  });

  test("a page with changes is left only after a question, and with all of them", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Brought back" }).press("Enter");
    const services = page.getByRole("link", { name: "Services", exact: true });
    const asked = page.getByRole("dialog", { name: "Leave without saving?" });
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    await page.getByRole("button", { name: "Remove Rows", exact: true }).press("Enter");
    await page.getByLabel("Name", { exact: true }).fill("Another name");
    await services.press("Enter");
    await asked.waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await asked.waitFor({ state: "detached" });
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Another name");
    expect(await page.getByRole("button", { name: "Remove Rows", exact: true }).count()).toBe(0);
    await page.goBack();
    await asked.getByRole("button", { name: "Leave" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Dashboards" }).waitFor();
    await page.getByRole("link", { name: "Brought back" }).press("Enter");
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    await services.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
  });

  test("Save is busy while its request runs, which is sent once", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Brought back" }).press("Enter");
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    let sent = 0;
    const arrived = Promise.withResolvers<() => Promise<void>>();
    await page.route("**/savedObjects/*", async (route) => {
      if (route.request().method() !== "PATCH") return await route.fallback();
      sent += 1;
      arrived.resolve(() => route.continue());
    });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await save.press("Enter");
    const goOn = await arrived.promise;
    await expect.poll(() => save.getAttribute("aria-busy")).toBe("true");
    await save.press("Enter");
    await goOn();
    await page.getByRole("button", { name: "Edit" }).waitFor();
    expect(sent).toBe(1);
  });

  test("the tools of the narrowest panel stand in one line, and its title has a line of its own", async () => {
    const { api, credentials } = console_.served;
    const panel = { kind: "statement", title: "Narrow", width: 3, serviceId: service.id, query: "SELECT 1" };
    const { id } = await api.createSavedObject({
      params: { organizationId: credentials.organizationId },
      body: { kind: "dashboard", name: "Narrow", content: { from: "now-1h", to: "now", panels: [panel] } },
    });
    const { page } = await console_.open(`/dashboards/${id}`, { viewport: { width: 1440, height: 800 } });
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    const tools = page.getByRole("toolbar", { name: "Tools of Narrow" });
    const boxes = await tools.getByRole("button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().y));
    expect(new Set(boxes).size).toBe(1);
    const widths = [tools, tools.getByRole("textbox")].map(async (one) => (await one.boundingBox())?.width);
    const [whole, title] = await Promise.all(widths);
    expect(title).toBe(whole);
  });

  test("a panel of a pipe that is gone says so, and does not lead away; a dashboard that is gone leads to all", async () => {
    const { api, credentials } = console_.served;
    const params = { organizationId: credentials.organizationId };
    const gone = "00000000-0000-4000-8000-000000000000";
    const panel = { kind: "pipe", title: "Lag", serviceId: service.id, pipeId: gone, metric: "lagSeconds" };
    const content = { from: "now-1h", to: "now", panels: [panel] };
    const { id } = await api.createSavedObject({ params, body: { kind: "dashboard", name: "Of a pipe", content } });
    const { page, problems } = await console_.open(`/dashboards/${id}`);
    await page.getByText(`Pipe ${gone} does not exist.`).waitFor();
    expect(await page.getByRole("link", { name: "All dashboards" }).count()).toBe(0);
    await api.deleteSavedObject({ params: { ...params, savedObjectId: id } });
    await page.reload();
    await page.getByRole("link", { name: "All dashboards" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Dashboards" }).waitFor();
    expect(problems.every((problem) => problem.startsWith("404: GET "))).toBe(true);
    problems.length = 0;
  });

  test("the mouse drags a chart to the place of another one, and its corner to another size", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Brought back" }).press("Enter");
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    const middleOf = async (what: Locator) => {
      await what.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await what.boundingBox()) as {
        x: number;
        y: number;
        width: number;
        height: number;
      };
      return [x + width / 2, y + height / 2] as const;
    };
    const places = () =>
      page
        .getByRole("textbox", { name: /^Title of/ })
        .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
    expect(await places()).toEqual(["Rows over time", "Rows", "Rows by severity"]);
    // Dropped where it was, it is not a change that is asked for.
    const grip = page.getByRole("button", { name: "Drag Rows over time" });
    await page.mouse.move(...(await middleOf(grip)));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf(page.getByLabel("Title of Rows over time"))));
    await page.mouse.up();
    await page.getByRole("link", { name: "Services", exact: true }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    await page.mouse.move(...(await middleOf(page.getByRole("button", { name: "Drag Rows", exact: true }))));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf(page.getByLabel("Title of Rows over time"))), { steps: 4 });
    await page.mouse.up();
    expect(await places()).toEqual(["Rows", "Rows over time", "Rows by severity"]);
    await page.getByRole("button", { name: "Duplicate Rows", exact: true }).click();
    const tools = page.getByRole("toolbar", { name: "Tools of Rows at place" });
    expect(await tools.evaluateAll((all) => all.map((one) => one.ariaLabel?.at(-1)))).toEqual(["1", "2"]);
    await page.getByRole("button", { name: "Remove Rows at place 2" }).click();
    const panel = page.getByRole("list", { name: "Charts" }).getByRole("listitem").first();
    const before = await panel.boundingBox();
    const [x, y] = await middleOf(page.getByRole("button", { name: "Size of Rows", exact: true }));
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + (before?.width ?? 0), y, { steps: 4 });
    await page.mouse.up();
    await page.getByText("Rows is 8 of 12 columns wide and 280 pixels high.").waitFor();
    expect((await panel.boundingBox())?.width).toBeGreaterThan((before?.width ?? 0) * 1.5);
    // On a narrow screen every panel is as wide as the list, and keeps the width that it has on others.
    await page.setViewportSize({ width: 800, height: 800 });
    const [left, top] = await middleOf(page.getByRole("button", { name: "Size of Rows", exact: true }));
    await page.mouse.move(left, top);
    await page.mouse.down();
    await page.mouse.move(left, top + 140, { steps: 4 });
    await page.mouse.up();
    await page.getByText("Rows is 8 of 12 columns wide and 420 pixels high.").waitFor();
  });

  test("a statement of SQL is a chart that is shown, edited and exported, and lets the service sleep", async () => {
    const { page } = await console_.open(`/sql?service=${service.id}`);
    const editor = page.getByRole("textbox", { name: "Statement" });
    await editor.focus();
    await page.keyboard.insertText(
      "SELECT toStartOfMinute(at) AS t, count() AS n, 7 AS seven FROM logs WHERE at >= {from:DateTime} GROUP BY t ORDER BY t",
    );
    await page.getByRole("group", { name: "Parameters" }).getByLabel("from").fill("1000000000");
    await editor.focus();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.getByRole("checkbox", { name: "seven" }).uncheck();
    await page.getByRole("button", { name: "Add to dashboard" }).press("Enter");
    await page.getByLabel("Title").fill("Per minute");
    await page.keyboard.press("Enter");
    await page.getByText("Per minute is on the dashboard.").waitFor();
    await until("the service sleeps", async () => (await state()) === "idle");

    await page.getByRole("status", { name: "Messages" }).getByRole("link", { name: "Open" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Per minute" }).waitFor();
    await page.getByText("Per minute is on the dashboard.").waitFor({ state: "detached" });
    // What was known of the service before it slept does not have the panel ask again and again.
    await page.getByText("logs sleeps.").waitFor();
    await page.getByRole("button", { name: "Wake and ask" }).press("Enter");
    const figure = page.getByRole("figure", { name: "Per minute" });
    const legend = figure.getByRole("list", { name: "Series" });
    await legend.getByRole("button", { name: /^n / }).waitFor();
    expect(await legend.getByRole("button").count()).toBe(1);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    // It runs once more for another range, and keeps nothing awake.
    await page.getByRole("button", { name: "Ask again" }).press("Enter");
    await until("the service sleeps again", async () => (await state()) === "idle");

    await page.getByRole("button", { name: "Edit" }).press("Enter");
    const statement = page.getByLabel("Statement of Per minute");
    await statement.fill("SELECT toStartOfHour(at) AS t, max(at) AS newest, count() AS rows FROM logs GROUP BY t");
    // What is typed is a change before its input is left, too.
    await page.goBack();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Per minute", exact: true }).waitFor();
    await page.getByRole("button", { name: "Wake and ask" }).press("Enter");
    await legend.getByRole("button", { name: /^rows / }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as JSON" }).press("Enter"),
    ]);
    const { panels } = JSON.parse(readFileSync(await download.path(), "utf8"));
    expect(panels).toMatchObject([
      { kind: "statement", serviceId: service.id, look: { display: "line", values: ["n"] } },
    ]);
    expect(panels[0].query).toContain("toStartOfHour");
  });

  test("a value of a variable filters every chart of its source, and stays in the address", async () => {
    const { page } = await console_.open("/dashboards");
    await page.getByRole("link", { name: "Brought back" }).press("Enter");
    const severity = page.getByRole("region", { name: "Variables" }).getByLabel("Severity");
    await severity.fill("error");
    await severity.press("Enter");
    await eventually(() => decodeURIComponent(page.url())).toContain('is={"Severity":"error"}');
    const wake = page.getByRole("button", { name: "Wake and ask" });
    const charts = page.getByRole("list", { name: "Charts" });
    await eventually(async () => {
      // The button goes with the answer, which may come before the click.
      if (await wake.first().isVisible())
        await wake
          .first()
          .click({ timeout: 1_000 })
          .catch(() => {});
      return await charts.getByText("120", { exact: true }).count();
    }).toBe(1);
    await page.reload();
    await expect.poll(() => severity.inputValue()).toBe("error");
    await severity.fill("");
    await eventually(() => page.url()).not.toContain("is=");

    await page.getByRole("button", { name: "Edit" }).press("Enter");
    // It refuses until the sources are known.
    await page.locator('button:not([aria-disabled="true"])', { hasText: "Add variable" }).press("Enter");
    await page.getByLabel("Name of variable 2").fill("Second");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("The variable Second needs a field. Choose one, or remove the variable.").waitFor();
    await page.getByLabel("Field of variable 2").fill("toSecond(at)");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Brought back", exact: true }).waitFor();
    await page.getByRole("region", { name: "Variables" }).getByLabel("Second").fill("7");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });
});
