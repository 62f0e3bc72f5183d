/** Every screen, wide and narrow, light and dark: no finding of axe of any severity, and nothing beside the page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const screens = [
  ...["/", "/services", "/services/new", "/services/:service", "/services/:service/settings", "/pipes", "/new-pipe"],
  ...["/sql", "/explore", "/dashboards", "/alerts", "/alerts/new", "/alerts/webhooks", "/backups"],
  ...["/backups/:service", "/activity", "/activity/logins", "/access", "/system"],
];

describe.skipIf(chromiumMissing !== undefined)("every screen", () => {
  let opened: ConsoleBrowser;
  let service: BenchService;
  beforeAll(async () => {
    opened = await openConsole();
    service = await runningService(opened.served, {
      name: "a-service-with-a-name-of-fifty-characters-the-most",
      idleScaling: false,
    });
    const table = "a_table_with_a_name_of_sixty_characters_which_is_quite_long_";
    await query(service, `CREATE TABLE ${table} (at DateTime, level String, n UInt32) ORDER BY at`);
    await query(service, `INSERT INTO ${table} SELECT now() - number, 'info', number FROM numbers(300)`);
    const source = { name: table, kind: "log", serviceId: service.id, timestampValueExpression: "at" };
    const from = { databaseName: "default", tableName: table };
    expect((await observabilityCall(opened.served, "POST", "/api/v2/sources", { ...source, from })).status).toBe(200);
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());

  test.each([1280, 390])("has no finding and fits at %d pixels", async (width) => {
    const { page, problems } = await opened.open("/");
    await page.setViewportSize({ width, height: 800 });
    const found: string[] = [];
    for (const screen of screens) {
      const path = screen.replace(":service", service.id);
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wider > 0) found.push(`${screen} is ${wider} pixels wider than the screen`);
      found.push(...(await accessibilityProblemsInBothThemes(page)).map((line) => `${screen} ${line}`));
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  });
});
