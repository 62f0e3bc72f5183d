/** What four charts of a dashboard cost to be drawn from answers that are there. */
import type { Page } from "playwright-core";
import type { ConsoleBrowser } from "../harness/browser.ts";
import { observabilityCall } from "../harness/charts/observability.ts";
import { type BenchService, query } from "../harness/serve.ts";
import { median } from "./bench.ts";
import { type Measure, workedMs } from "./console-measures.ts";

const charts = 4;
const rounds = 8;
const name = "Four charts";

/** Charts of 720 minutes and two series each, over a table of this service. Leaves the dashboard, and tells its id. */
export async function chartMeasures(
  opened: ConsoleBrowser,
  service: BenchService,
): Promise<{ readonly dashboardId: string; readonly measures: readonly Measure[] }> {
  const dashboardId = await createDashboard(opened, service);
  const { page, context } = await opened.open("/dashboards");
  await page.getByRole("link", { name }).click();
  await drawn(page);
  const drawTimes: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Dashboards" }).click();
    await page.getByRole("link", { name }).hover();
    drawTimes.push(
      await workedMs(page, async () => {
        await page.getByRole("link", { name }).click();
        await drawn(page);
      }),
    );
  }
  await context.close();
  const unit = "ms of the main thread, with the page";
  return { dashboardId, measures: [{ what: "fourChartsMs", value: median(drawTimes), unit }] };
}

/** Until every chart has a canvas, and the browser has drawn it. */
async function drawn(page: Page): Promise<void> {
  await page.waitForFunction(
    (count) => {
      type Doc = { querySelectorAll(selector: string): { length: number } };
      return (globalThis as unknown as { document: Doc }).document.querySelectorAll("canvas").length >= count;
    },
    charts,
    { polling: "raf" },
  );
}

async function createDashboard({ served }: ConsoleBrowser, service: BenchService): Promise<string> {
  await query(service, "CREATE TABLE points (at DateTime, kind String) ENGINE = MergeTree ORDER BY at");
  await query(
    service,
    "INSERT INTO points SELECT now() - intDiv(number, 2) * 20, if(number % 2 = 0, 'a', 'b') FROM numbers(8640)",
  );
  const source = {
    name: "points",
    kind: "log",
    serviceId: service.id,
    from: { databaseName: "default", tableName: "points" },
    timestampValueExpression: "at",
  };
  const { data } = (await observabilityCall(served, "POST", "/api/v2/sources", source)).json as {
    data: { id: string };
  };
  const panels = Array.from({ length: charts }, (_, at) => ({
    id: String(at),
    kind: "chart",
    title: `Chart ${at}`,
    width: 6,
    chart: { sourceId: data.id, series: [{ aggFn: "count" }], groupBy: "kind", display: "line", granularity: "1m" },
  }));
  const content = { from: "now-12h", to: "now", panels };
  const { id } = await served.api.createSavedObject({
    params: { organizationId: served.credentials.organizationId },
    body: { kind: "dashboard", name, content },
  });
  return id;
}
