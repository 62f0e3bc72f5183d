/** Every route, wide and narrow, light and dark: no finding of axe of any severity, and nothing beside the page. */
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { startTestStore, type TestStore } from "../../harness/objects/object-store.ts";
import { query, runningService, serve, until } from "../../harness/serve.ts";
import { filesBelow, read } from "../../scripts/house.ts";
import { notByTab } from "./keyboard.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

/** Addresses of all routes, as their files declare them; a route below another one has the address of both. */
function routes(): string[] {
  const found = new Map<string, string>([["rootRoute", ""]]);
  // The overview has no parent by name.
  const ends = ["/"];
  for (const file of filesBelow("console/src/features", "routes.tsx")) {
    const made = read(file).matchAll(/(?:const (\w+) = )?\bscreen\(\s*(\w+),\s*"([^"]*)"/g);
    for (const [, name = "", parent = "", path = ""] of made) {
      const address = `${found.get(parent)}${path}`;
      found.set(name, address.replace(/\/$/, ""));
      // With and without the last slash it is one screen.
      if (address === "/" || !address.endsWith("/")) ends.push(address);
    }
  }
  return ends;
}

/** Runs in the page. */
function nameOfFocus(): string {
  const focused = document.activeElement;
  if (focused?.id === "main") return "main";
  return (
    focused?.ariaLabel ?? (focused as HTMLInputElement | null)?.labels?.[0]?.textContent ?? focused?.textContent ?? ""
  );
}

const name = "a_name_of_sixty_characters_which_is_quite_long_for_a_screen_";

describe.skipIf(chromiumMissing !== undefined)("every screen", () => {
  let opened: ConsoleBrowser;
  let store: TestStore;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    const served = await serve({ env: { MILLRACE_WEBHOOK_NETWORKS: "loopback" } });
    [opened, store] = await Promise.all([openConsole({ served }), startTestStore("flights")]);
    const { api } = served;
    const service = await runningService(served, { name: name.slice(0, 50), idleScaling: false });
    await query(service, `CREATE TABLE ${name} (at DateTime, level String, n UInt32) ORDER BY at`);
    await query(service, `INSERT INTO ${name} SELECT now() - number, 'info', number FROM numbers(300)`);
    await store.put("in/1.json", '{"id":1}\n{"id":"refused"}\n');
    const url = `${store.endpoint}/${store.bucket}/in/*.json`;
    const objectStorage = {
      ...{ type: "s3" as const, url, format: "JSONEachRow" as const, isContinuous: true },
      ...{ authentication: "IAM_USER" as const, accessKey: store.accessKey },
    };
    const tableDefinition = { engine: { type: "MergeTree" as const }, sortingKey: ["id"] };
    const columns = [{ name: "id", type: "Int32" }];
    const intoTable = (table: string) => ({ database: "default", table, managedTable: true, tableDefinition, columns });
    const body = {
      ...{ name, source: { objectStorage }, destination: intoTable(`${name}2`) },
      fieldMappings: [{ sourceField: "id", destinationField: "id" }],
    };
    const { params } = service;
    const pipe = await api.createPipe({ params, body });
    // A pipe that says in the list why it is not well.
    const once = { ...body, source: { objectStorage: { ...objectStorage, isContinuous: false } } };
    const { id: pipeId } = await api.createPipe({ params, body: { ...once, destination: intoTable(`${name}4`) } });
    await until("a pipe says what it refused", async () => {
      const { state, lastError } = await api.getPipe({ params: { ...params, pipeId } });
      return state === "Completed" && lastError !== undefined;
    });
    const made = async (path: string, content: object): Promise<string> => {
      const { status, json, text } = await observabilityCall(served, "POST", `/api/v2${path}`, content);
      expect(status, text).toBe(200);
      return json.data.id;
    };
    const source = { name, kind: "log", serviceId: service.id, timestampValueExpression: "at" };
    const sourceId = await made("/sources", { ...source, from: { databaseName: "default", tableName: name } });
    const webhookId = await made("/webhooks", { name, service: "generic", url: "http://127.0.0.1:9/" });
    const savedSearchId = await made("/saved-searches", { name, sourceId });
    const alertId = await made("/alerts", {
      ...{ name, savedSearchId, threshold: 1, thresholdType: "above", interval: "1m" },
      channel: { type: "webhook", webhookId },
    });
    const series = [{ aggFn: "count" }];
    const panels = [
      { kind: "chart", title: name, width: 6, chart: { sourceId, series, groupBy: "level", display: "table" } },
      { kind: "chart", title: name, width: 3, chart: { sourceId, series, display: "line" } },
      { kind: "pipe", title: name, width: 3, serviceId: service.id, pipeId: pipe.id, metric: "rowsPerSecond" },
      { kind: "statement", title: name, width: 12, serviceId: service.id, query: `SELECT at, n FROM ${name}` },
    ];
    const { organizationId } = params;
    const dashboard = await api.createSavedObject({
      params: { organizationId },
      body: { kind: "dashboard", name, content: { from: "now-1h", to: "now", panels } },
    });
    const backup = await api.createBackup({ params });
    const backupParams = { ...params, backupId: backup.id };
    await until(
      "the backup is verified",
      async () => (await api.getBackup({ params: backupParams })).verification === "passed",
    );
    const target = { database: "default", table: name, targetDatabase: "default", targetTable: `${name}3` };
    const restore = await api.restoreBackup({ params: backupParams, body: target });
    Object.assign(ids, { serviceId: service.id, pipeId: pipe.id, alertId, dashboardId: dashboard.id });
    Object.assign(ids, { backupId: backup.id, restoreId: restore.id });
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await opened?.served[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  const addresses = () => {
    const all = routes();
    expect(all.length).toBeGreaterThan(30);
    return all.map((route) => route.replaceAll(/\$(\w+)/g, (_, id: string) => ids[id] ?? `no ${id}`));
  };

  test.each([1280, 360])(
    "has no finding and fits at %d pixels",
    async (width) => {
      const { page, problems } = await opened.open("/");
      await page.setViewportSize({ width, height: 800 });
      const found: string[] = [];
      for (const path of addresses()) {
        await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
        await page.getByRole("heading", { level: 1 }).first().waitFor();
        await expect.poll(() => page.getByRole("status", { name: "Loading" }).count()).toBe(0);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wider > 0) found.push(`${path} is ${wider} pixels wider than the screen`);
        const over = await page.evaluate(() => {
          const end = (element: Element | null) => element?.getBoundingClientRect().right ?? 0;
          const texts = [...document.querySelectorAll("td .cut")].filter((text) => end(text) > end(text.closest("td")));
          return texts.map((text) => text.textContent);
        });
        found.push(...over.map((text) => `${path} draws over the next cell: ${text}`));
        const hiding = await page.evaluate(() => {
          const frames = [...document.querySelectorAll("section:has(> table)")];
          return frames.flatMap((frame) => (frame.scrollWidth > frame.clientWidth ? [frame.ariaLabel] : []));
        });
        found.push(...hiding.map((label) => `${path} hides columns of the table ${label}`));
        found.push(...(await accessibilityProblemsInBothThemes(page)).map((line) => `${path} ${line}`));
      }
      expect(found).toEqual([]);
      // A service that is not moved has no move.
      expect(problems.filter((problem) => !/^404: GET .*\/move$/.test(problem))).toEqual([]);
    },
    900_000,
  );

  test("says what does not exist, or cannot, and leads on", async () => {
    const { page } = await opened.open("/");
    for (const id of ["01990000-0000-7000-8000-000000000000", "x"]) {
      for (const route of routes().filter((one) => one.includes("$"))) {
        await page.goto(`${opened.served.credentials.baseUrl}/console${route.replaceAll(/\$\w+/g, id)}`);
        const said = page.getByRole("heading", { name: /This does not exist|There is no such/ });
        const list = page.getByRole("main").getByRole("link", { name: `All ${route.split("/")[1]}`, exact: true });
        await Promise.all([said.first().waitFor(), list.first().waitFor()]);
      }
    }
  });

  test("reads no value of its address that it does not know", async () => {
    for (const [path, heading] of [
      ["pipes?state=nonsense", "Pipes"],
      ["alerts/new?metric=nonsense", "New alert"],
    ] as const) {
      const { page } = await opened.open(`/${path}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      expect(page.url()).not.toContain("nonsense");
    }
  });

  test("keeps its headings and inputs, the very elements, while the server fails", async () => {
    const { page } = await opened.open("/");
    await page.clock.install();
    const lost: string[] = [];
    for (const path of addresses()) {
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await expect.poll(() => page.getByRole("status", { name: "Loading" }).count()).toBe(0);
      const kept = page.locator("main").locator("h1, h2, input, select, textarea, [role=tab], [role=textbox]");
      const elements = await kept.elementHandles();
      let [asked, failed] = [0, 0];
      await page.route(/\/(v1|api\/v2)\//, async (route) => {
        asked += 1;
        await route.fulfill({ status: 503, json: { error: "UNAVAILABLE: Not now." } });
        failed += 1;
      });
      // Whatever is asked again by itself is due, and the rest because somebody comes back to the page.
      await page.clock.fastForward(120_000);
      await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
      await expect.poll(() => failed).toBeGreaterThan(0);
      await expect.poll(() => asked - failed).toBe(0);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      for (const element of elements) {
        const text = await element.evaluate((one) => (one.isConnected ? undefined : one.outerHTML.slice(0, 120)));
        if (text !== undefined) lost.push(`${path}: ${text}`);
      }
      await page.unrouteAll();
    }
    expect(lost).toEqual([]);
  }, 900_000);

  test("Tab alone reaches every control, shows where it is, and comes to the end", async () => {
    const { page } = await opened.open("/");
    const found: string[] = [];
    for (const path of addresses()) {
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await expect.poll(() => page.getByRole("status", { name: "Loading" }).count()).toBe(0);
      found.push(...(await notByTab(page)).map((line) => `${path}: ${line}`));
    }
    expect([...new Set(found)]).toEqual([]);
  }, 900_000);

  test("what closes gives the focus back to what has opened it", async () => {
    const { page } = await opened.open("/access");
    const isAt = async (control: Locator) =>
      await expect.poll(() => control.evaluate((element) => element === document.activeElement)).toBe(true);
    const create = page.getByRole("button", { name: "Create key" });
    await create.press("Enter");
    await page.getByRole("dialog").getByLabel("Name").press("Escape");
    await isAt(create);
    // Another window in the place of the first one.
    await create.press("Enter");
    await page.getByRole("dialog").getByLabel("Name").fill("night shift");
    // A click beside it takes nothing that is filled in.
    await page.mouse.click(2, 2);
    await page.getByRole("dialog").getByLabel("Name").press("Enter");
    await page.getByRole("button", { name: "I have kept it" }).press("Enter");
    await isAt(create);
    await page.goto(`${opened.served.credentials.baseUrl}/console/services/${ids.serviceId}`);
    const menu = page.getByRole("button", { name: /^Actions of/ });
    await menu.press("Enter");
    await page.getByRole("menuitem", { name: /^As JSON/ }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).press("Escape");
    await isAt(menu);
    await page.goto(`${opened.served.credentials.baseUrl}/console/sql`);
    await page.getByRole("button", { name: "Close Query 1" }).press("Enter");
    await isAt(page.getByRole("navigation", { name: "Statements" }).getByRole("list"));
  });

  test("a screen that is opened is read from its beginning, and a control that goes leaves the focus near", async () => {
    const { page } = await opened.open("/services");
    const focused = (what: string) => expect.poll(() => page.evaluate(nameOfFocus)).toBe(what);
    await page.getByRole("button", { name: "Find anything" }).focus();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { level: 1, name: "Dashboards" }).waitFor();
    await focused("main");
    await page.getByRole("button", { name: "New dashboard" }).press("Enter");
    await focused("Begin with");
    await page.keyboard.press("Tab");
    await page.keyboard.type("By keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "By keys" }).waitFor();
    await focused("main");
    await page.goto(`${opened.served.credentials.baseUrl}/console/dashboards/${ids.dashboardId}`);
    await page.getByRole("button", { name: "Edit" }).press("Enter");
    await page
      .getByRole("button", { name: /^Remove / })
      .last()
      .press("Enter");
    await focused("Charts");
    await page.keyboard.press("Tab");
    await focused(`Drag ${name} at place 1`);
    await page.getByRole("button", { name: "Discard" }).press("Enter");
    await focused("main");
    await page.goto(`${opened.served.credentials.baseUrl}/console/`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").press("Escape");
    await focused("main");
    // From elsewhere than the page itself, too.
    await page.getByRole("button", { name: "Find anything" }).focus();
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await focused("Statement");
    await page.keyboard.type("SELECT 1");
    await page.getByRole("button", { name: "New statement" }).press("Enter");
    await focused("Statement");
  });

  test("a finger finds every link, also one that is a line of text", async () => {
    const { page } = await opened.blank({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
    await page.goto(await opened.link());
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    for (const path of ["/", `/dashboards/${ids.dashboardId}`, `/pipes/${ids.serviceId}/${ids.pipeId}`, "/activity"]) {
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await expect.poll(() => page.getByRole("status", { name: "Loading" }).count()).toBe(0);
      const links = await page
        .locator("main a")
        .evaluateAll((all) =>
          all.map((one) => ({ text: one.textContent, height: one.getBoundingClientRect().height })),
        );
      expect(links.length).toBeGreaterThan(0);
      expect(links.filter(({ height }) => height > 0 && height < 24)).toEqual([]);
    }
  });

  test("the bar covers no control that the focus comes to", async () => {
    const { page } = await opened.open("/new-pipe");
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.getByRole("button", { name: "Tiger Data" }).focus();
    for (let presses = 0; presses < 25; presses += 1) {
      await page.keyboard.press("Shift+Tab");
      const top = await page.evaluate(() => document.activeElement?.getBoundingClientRect().top);
      expect(top, await page.evaluate(nameOfFocus)).toBeGreaterThanOrEqual(48);
    }
  });
});
