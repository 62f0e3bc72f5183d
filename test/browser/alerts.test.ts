/** Alerts by keyboard: a webhook, an alert of a chart in Explore, its firing, and its end. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { query, runningService, serve } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

type Told = { readonly authorization: string | undefined; readonly event: { readonly state: string } };

describe.skipIf(chromiumMissing !== undefined)("alerts", () => {
  let console_: ConsoleBrowser;
  let listener: Server;
  let sourceId: string;
  const told: Told[] = [];
  beforeAll(async () => {
    listener = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += String(chunk);
      });
      request.on("end", () => {
        const isRefused = request.url?.endsWith("/refused");
        if (!isRefused) told.push({ authorization: request.headers.authorization, event: JSON.parse(body) });
        response.writeHead(isRefused ? 410 : 200).end();
      });
    });
    await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
    console_ = await openConsole({ served: await serve({ env: { MILLRACE_WEBHOOK_NETWORKS: "loopback" } }) });
    const service = await runningService(console_.served, { name: "logs", idleScaling: false });
    await query(service, "CREATE TABLE logs (at DateTime, level String) ENGINE = MergeTree ORDER BY at");
    // A row a second, until long after the test: every window of a minute has 60, half of them errors.
    await query(
      service,
      "INSERT INTO logs SELECT now() - 3600 + number, if(number % 2 = 0, 'error', 'info') FROM numbers(7200)",
    );
    const from = { databaseName: "default", tableName: "logs" };
    const source = { name: "logs", kind: "log", serviceId: service.id, from, timestampValueExpression: "at" };
    sourceId = await made("/sources", source);
  });
  afterAll(async () => {
    await console_?.[Symbol.asyncDispose]();
    await console_?.served[Symbol.asyncDispose]();
    listener.close();
  });
  afterEach(async () => {
    await console_.closePages();
    // A page may ask for an alert once more while it is deleted.
    const isLate = (problem: string) => /^404: GET \/api\/v2\/alerts\//.test(problem);
    expect(console_.problems().filter((problem) => !isLate(problem))).toEqual([]);
  });

  const call = (method: string, path: string, body?: object) =>
    observabilityCall(console_.served, method, `/api/v2${path}`, body);
  async function made(path: string, body: object): Promise<string> {
    const { status, json, text } = await call("POST", path, body);
    expect(status, text).toBe(200);
    return json.data.id;
  }
  const hookUrl = () => `http://127.0.0.1:${(listener.address() as AddressInfo).port}/secret-path`;
  const exploring = () => {
    const series = [{ aggFn: "count", where: "level:error", whereLanguage: "lucene" }];
    return `/explore?chart=${encodeURIComponent(JSON.stringify({ sourceId, series }))}`;
  };

  test("an alert of a chart is told to its webhook when it fires, is disabled, and goes", async () => {
    const { page, problems } = await console_.open(exploring());
    await page.getByRole("button", { name: "More", exact: true }).press("Enter");
    await page.getByRole("menuitem", { name: "Create alert" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "New alert" }).waitFor();
    await page.getByLabel("Name").fill("Errors");
    await page.getByLabel("Window", { exact: true }).selectOption({ label: "1 min" });
    await page.getByLabel("Threshold").fill("ten");
    await page.getByRole("button", { name: "New webhook" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "New webhook" });
    await dialog.getByText("--webhook-networks").waitFor();
    await dialog.getByLabel("Name").fill("Listener");
    await dialog.getByLabel("URL", { exact: true }).fill(hookUrl());
    await dialog.getByLabel("Headers").fill("Authorization: Bearer of-the-listener");
    await dialog.getByRole("button", { name: "Create webhook" }).press("Enter");
    await dialog.waitFor({ state: "detached" });

    // A mistake is told at its field, and what was kept for the alert goes again.
    await page.getByRole("button", { name: "Create alert" }).press("Enter");
    await page.locator("[aria-invalid]").waitFor();
    expect(await page.locator("[aria-invalid]").inputValue()).toBe("ten");
    expect((await call("GET", "/saved-searches")).json.data).toEqual([]);
    expect(problems.splice(0)).toEqual(["400: POST /api/v2/alerts"]);

    await page.getByLabel("Threshold").fill("10");
    await page.getByRole("link", { name: "Services", exact: true }).press("Enter");
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText(/^In the last day, [\d,]+ of [\d,]+ windows fulfil the condition: .* fired once\.$/).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create alert" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Errors" }).waitFor();
    await expect.poll(() => told, { timeout: 20_000 }).toHaveLength(1);
    expect(told[0]).toMatchObject({ authorization: "Bearer of-the-listener", event: { state: "ALERT" } });
    await page.getByRole("table").first().waitFor();
    await page.getByRole("region", { name: "Evaluations" }).getByText("rows 30 (fires)").first().waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);

    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Alerts" }).press("Enter");
    await page.getByRole("heading", { name: "1 alert, 1 firing" }).waitFor();
    await page.getByText("at least 10 rows in 1 min").waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("link", { name: "Webhooks" }).press("Enter");
    await page.getByRole("button", { name: "Actions of Listener" }).press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).getByText("Used by Errors.").waitFor();
    await page.keyboard.press("Escape");
    expect(await page.content()).not.toMatch(/secret-path|of-the-listener/);

    await page.getByRole("link", { name: "Errors" }).press("Enter");
    await page.getByRole("button", { name: "Disable" }).press("Enter");
    await page.getByRole("button", { name: "Enable" }).waitFor();
    await page.getByText("Disabled", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByLabel("Delete the saved search Errors too").check();
    await page.getByRole("button", { name: "Delete alert" }).press("Enter");
    await page.getByText("No alerts yet").waitFor();
    expect((await call("GET", "/saved-searches")).json.data).toEqual([]);
  });

  test("states are watched from the page that shows them, and pipes from the empty list", async () => {
    const hook = { name: "Pager", service: "generic", url: hookUrl() };
    const webhookId = await made("/webhooks", hook);
    const [service] = await console_.served.api.listServices({
      params: { organizationId: console_.served.credentials.organizationId },
      query: {},
    });
    const { page } = await console_.open(`/services/${service?.id}`);
    await page.getByRole("button", { name: "Actions of logs" }).press("Enter");
    await page.getByRole("menuitem", { name: "Alert me" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "New alert" }).waitFor();
    const chosen = (label: string) => page.getByLabel(label, { exact: true }).locator("option:checked").textContent();
    expect(await page.getByLabel("Name").inputValue()).toBe("logs needs attention");
    expect(await chosen("Watches")).toBe("Service needs attention");
    await expect.poll(() => chosen("Which")).toBe("logs");
    expect(await page.getByLabel("Threshold").count()).toBe(0);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Watches").selectOption({ label: "Free disk in percent" });
    expect([await page.getByLabel("Name").inputValue(), await chosen("Which")]).toEqual(["", "logs"]);
    await page.getByLabel("Watches").selectOption({ label: "Service needs attention" });
    await page.getByLabel("Name").fill("logs needs attention");
    await page.getByLabel("Webhook", { exact: true }).selectOption({ label: "Pager" });
    await page.getByRole("button", { name: "Create alert" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "logs needs attention" }).waitFor();
    await page.getByText("Service needs attention, looked at every 5 min").waitFor();
    const [alert] = (await call("GET", "/alerts")).json.data;
    expect(alert).toMatchObject({ source: "state", metric: "service_attention", serviceId: service?.id, threshold: 1 });

    // A server without an alert, and a chart, can be asked for what needs attention.
    await call("DELETE", `/alerts/${alert.id}`);
    const list = await console_.open("/alerts");
    await list.page.getByRole("link", { name: "Alert me of pipes" }).press("Enter");
    await expect.poll(() => list.page.getByLabel("Which", { exact: true }).count()).toBe(1);
    const backups = await console_.open("/backups");
    await backups.page.getByRole("link", { name: "Alert me" }).press("Enter");
    await backups.page.getByLabel("Threshold").waitFor();
    expect(await backups.page.getByLabel("Threshold").inputValue()).toBe("26");
    await call("DELETE", `/webhooks/${webhookId}`);
  });

  test("an edit of a webhook keeps its headers, and one of an alert what the form does not show", async () => {
    const savedSearchId = await made("/saved-searches", { name: "All rows", sourceId });
    const hook = { name: "Second", service: "generic", url: hookUrl(), headers: { authorization: "kept" } };
    const webhookId = await made("/webhooks", hook);
    const alertId = await made("/alerts", {
      ...{ name: "Rows", note: "of the night", savedSearchId, threshold: 1e6, thresholdType: "above", interval: "1m" },
      channel: { type: "webhook", webhookId },
    });
    const { page } = await console_.open("/alerts/webhooks");
    await page.getByRole("button", { name: "Actions of Second" }).press("Enter");
    await page.getByRole("menuitem", { name: "Edit" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Edit Second" });
    expect(await dialog.getByLabel("URL", { exact: true }).inputValue()).toBe("");
    await dialog.getByLabel("URL", { exact: true }).fill(hookUrl());
    await dialog.getByLabel("Description").fill("Of the night");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByText("Of the night").waitFor();

    await page.getByRole("link", { name: "Rows" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Rows" }).waitFor();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Alerts" }).press("Enter");
    await page.getByRole("button", { name: "Actions of Rows" }).waitFor();
    // Somebody else changes the alert after the page has read it.
    const { data: before } = (await call("GET", `/alerts/${alertId}`)).json;
    expect((await call("PUT", `/alerts/${alertId}`, { ...before, note: "of the day" })).status).toBe(200);
    await page.getByRole("button", { name: "Actions of Rows" }).press("Enter");
    await page.getByRole("menuitem", { name: "Edit" }).press("Enter");
    await page.getByLabel("Threshold").fill("60");
    await page.goBack();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.keyboard.press("Escape");
    told.length = 0;
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("at least 60 rows in 1 min").waitFor();
    await expect.poll(() => told, { timeout: 20_000 }).toHaveLength(1);
    expect(told[0]).toMatchObject({ authorization: "kept", event: { state: "ALERT" } });
    expect((await call("GET", `/alerts/${alertId}`)).json.data).toMatchObject({ note: "of the day", threshold: 60 });
  });

  test("a webhook whose deliveries fail says so in the list of webhooks", async () => {
    const webhookId = await made("/webhooks", { name: "Lost", service: "generic", url: `${hookUrl()}/refused` });
    const { page } = await console_.open("/alerts/webhooks");
    const row = page.getByRole("row").filter({ hasText: "Lost" });
    await row.getByRole("cell", { name: "none" }).nth(1).waitFor();
    const savedSearchId = await made("/saved-searches", { name: "Lost rows", sourceId });
    await made("/alerts", {
      ...{ name: "Lost rows", savedSearchId, threshold: 1, thresholdType: "above", interval: "1m" },
      channel: { type: "webhook", webhookId },
    });
    await row.getByText("Not delivered").waitFor();
    await row.getByText(/\b410\b/).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("a key that may only read sees alerts, and is told why it cannot change them", async () => {
    const body = { name: "reader", roles: ["read_only" as const] };
    const { organizationId } = console_.served.credentials;
    const key = await console_.served.api.createKey({ params: { organizationId }, body });
    const { page } = await console_.open("/alerts", { key });
    await page.getByRole("link", { name: "Rows", exact: true }).press("Enter");
    const remove = page.getByRole("button", { name: "Delete" });
    await remove.press("Enter");
    expect(await remove.getAttribute("aria-description")).toContain("Needs the role developer");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});
