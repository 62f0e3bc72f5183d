/** Charts tell the truth: pixels, and the values that a person reads, against rows that are known. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole } from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const minute = 60_000;
const begin = Date.UTC(2024, 4, 1, 10);
/** Rows of the buckets of five minutes: no two are equal. */
const counts = [7, 12, 3, 20, 9, 15, 4, 18, 6, 11, 14, 5];
const total = counts.reduce((sum, count) => sum + count, 0);

describe.skipIf(chromiumMissing !== undefined)("charts", () => {
  let opened: ConsoleBrowser;
  let sourceId: string;
  beforeAll(async () => {
    opened = await openConsole();
    const service: BenchService = await runningService(opened.served, { name: "truth", idleScaling: false });
    await query(service, "CREATE TABLE rows (at DateTime, n UInt32, big UInt32, city String) ORDER BY at");
    const bucket = `SELECT toDateTime(${begin / 1000} + 300 * (number) + 60, 'UTC') AS at, number AS place, [${counts}][number + 1] AS rows FROM numbers(12)`;
    await query(
      service,
      `INSERT INTO rows SELECT at, arrayJoin(range(rows)) AS n, 5000 + n, concat('city ', toString((n * 7 + place) % 50)) FROM (${bucket})`,
    );
    const source = {
      name: "rows",
      kind: "log",
      serviceId: service.id,
      from: { databaseName: "default", tableName: "rows" },
      timestampValueExpression: "at",
    };
    const { json } = await observabilityCall(opened.served, "POST", "/api/v2/sources", source);
    sourceId = (json as { data: { id: string } }).data.id;
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(async () => {
    await opened.closePages();
    expect(opened.problems()).toEqual([]);
  });

  async function explore(
    chart: object,
    { minutes = 60, ...context } = {} as { minutes?: number; timezoneId?: string },
  ) {
    const range = { from: new Date(begin).toISOString(), to: new Date(begin + minutes * minute - 1).toISOString() };
    const full = { sourceId, display: "bar", granularity: "5m", ...chart };
    const address = new URLSearchParams({ ...range, chart: JSON.stringify(full) });
    const { page } = await opened.open(`/explore?${address}`, { timezoneId: "UTC", ...context });
    await page
      .getByRole("region", { name: "Chart" })
      .getByText(/rows read|from the cache/)
      .waitFor();
    return page;
  }
  const legend = (page: Page) => page.getByRole("list", { name: "Series" }).getByRole("button");
  const legendTexts = async (page: Page) => await legend(page).allTextContents();
  const tooltip = (page: Page) => page.locator("[class*=tooltip]").first();

  /** Runs of one colour in a row of pixels just above the time axis, in pixels of the page. */
  async function barsOf(page: Page): Promise<{ from: number; to: number; y: number; color: string }[]> {
    const canvas: Locator = page.getByRole("figure").locator("canvas");
    await canvas.waitFor();
    return await canvas.evaluate((element) => {
      const canvas_ = element as HTMLCanvasElement;
      const box = canvas_.getBoundingClientRect();
      const over = canvas_.parentElement?.querySelector(".u-over")?.getBoundingClientRect() as DOMRect;
      const scale = canvas_.width / box.width;
      const y = Math.round((over.bottom - box.top - 3) * scale);
      const from = Math.round((over.left - box.left) * scale);
      const context = canvas_.getContext("2d") as CanvasRenderingContext2D;
      const { data } = context.getImageData(from, y, Math.round(over.width * scale), 1);
      const found: { from: number; to: number; y: number; color: string }[] = [];
      for (let x = 0; x < data.length / 4; x += 1) {
        const color = data.slice(4 * x, 4 * x + 4).join();
        const place = over.left + x / scale;
        const last = found.at(-1);
        if (last?.color === color) last.to = place + 1 / scale;
        else found.push({ from: place, to: place + 1 / scale, y: over.bottom - 3, color });
      }
      return found.filter((run) => run.to - run.from > 8 && !run.color.endsWith(",0"));
    });
  }

  test("another theme is read with a few computations of styles, not with one for each colour", async () => {
    const page = await explore({ granularity: "10m" });
    const client = await page.context().newCDPSession(page);
    await client.send("Performance.enable");
    const computed = async () => {
      const { metrics } = await client.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "RecalcStyleCount")?.value ?? Number.NaN;
    };
    const before = await computed();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(undefined)))),
    );
    expect((await computed()) - before).toBeLessThan(20);
  });

  test("the value in the tooltip is that of the bar under the pointer, at 5, 50 and 95 % of its width", async () => {
    const page = await explore({});
    const bars = await barsOf(page);
    expect(bars).toHaveLength(counts.length);
    for (const [at, { from, to, y }] of bars.entries()) {
      for (const share of [0.05, 0.5, 0.95]) {
        await page.mouse.move(from + share * (to - from), y - 20);
        const time = new Date(begin + at * 5 * minute).toISOString().slice(11, 19);
        await expect.poll(() => tooltip(page).textContent()).toMatch(new RegExp(`${time}[^]*count\\s*${counts[at]}$`));
      }
    }
    expect(await legendTexts(page)).toEqual([`count5 · sum ${total}`]);
  });

  test("bars of values that do not add up begin at the axis, and the shorter one stands before the other", async () => {
    const [avg, max] = ["avg", "max"].map((aggFn) => ({ aggFn, field: "n" }));
    for (const series of [
      [avg, max],
      [max, avg],
    ]) {
      const page = await explore({ series });
      const canvas = page.getByRole("figure").locator("canvas");
      await canvas.waitFor();
      // The values of the bar of 20 rows are 9.5 and 19: half of it is the shorter one.
      const heights = await canvas.evaluate(
        (element, share) => {
          const { width, height, parentElement } = element as HTMLCanvasElement;
          const box = element.getBoundingClientRect();
          const over = parentElement?.querySelector(".u-over")?.getBoundingClientRect() as DOMRect;
          const x = Math.round(((over.left + share * over.width - box.left) * width) / box.width);
          const context = (element as HTMLCanvasElement).getContext("2d") as CanvasRenderingContext2D;
          const { data } = context.getImageData(x, 0, 1, height);
          const found = new Map<string, number>();
          for (let y = 0; y < height; y += 1) {
            const color = data.slice(4 * y, 4 * y + 4).join();
            found.set(color, (found.get(color) ?? 0) + 1);
          }
          return [...found].filter(([color, rows]) => color.endsWith(",255") && rows > 20).map(([, rows]) => rows);
        },
        (counts.indexOf(20) + 0.3) / counts.length,
      );
      expect(heights).toHaveLength(2);
      expect((heights[0] as number) / (heights[1] as number)).toBeCloseTo(1, 1);
    }
  });

  test("a click shows the rows of the bar under it, also before the browser has drawn the cursor", async () => {
    const page = await explore({}, { minutes: 58 });
    const bars = await barsOf(page);
    for (const at of [8, 2, 11]) {
      const { from, y } = bars[at] as (typeof bars)[number];
      await page
        .getByRole("figure")
        .locator(".u-over")
        .evaluate(
          (over, [x, top]) => {
            const place = { clientX: x as number, clientY: top as number, bubbles: true };
            for (const type of ["mousemove", "mousedown", "mouseup", "click"])
              over.dispatchEvent(new MouseEvent(type, place));
          },
          [from + 5, y - 20],
        );
      const rows = () => ["rowsFrom", "rowsTo"].map((end) => Number(new URL(page.url()).searchParams.get(end)));
      await expect.poll(rows).toEqual([begin + at * 5 * minute, begin + Math.min((at + 1) * 5, 58) * minute - 1]);
    }
  });

  test("a bucket that the range ends in is marked, and is in no legend and no sum", async () => {
    const page = await explore({}, { minutes: 57 });
    const bars = await barsOf(page);
    expect(bars).toHaveLength(counts.length);
    expect(new Set(bars.slice(0, -1).map(({ color }) => color)).size).toBe(1);
    expect(bars.at(-1)?.color).not.toBe(bars[0]?.color);
    expect(await legendTexts(page)).toEqual([`count14 · sum ${total - 5}`]);
    const last = bars.at(-1) as (typeof bars)[number];
    await page.mouse.move((last.from + last.to) / 2, last.y - 20);
    await tooltip(page).getByText("unfinished").waitFor();
    await page.getByRole("button", { name: /as table/ }).press("Enter");
    await page.getByRole("rowheader", { name: "2024-05-01 10:55:00, unfinished" }).waitFor();
  });

  test("what a limit leaves out is one series with the number of its groups, and adds up to the whole", async () => {
    const page = await explore({ groupBy: "city", limit: 6, display: "stacked" });
    const sums = async () =>
      (await legendTexts(page)).map((text) => Number(/sum (\d+)$/.exec(text)?.[1])).reduce((sum, one) => sum + one, 0);
    expect((await legendTexts(page)).at(-1)).toMatch(/^other \(44\)/);
    expect(await sums()).toBe(total);
    await page.getByLabel("Display", { exact: true }).selectOption("number");
    await page.getByText(String(total), { exact: true }).waitFor();
    await page.getByText("count, over all city").waitFor();
    await page.getByLabel("Display", { exact: true }).selectOption("stacked");
    await legend(page).first().waitFor();
    await page.getByLabel("Display", { exact: true }).selectOption("table");
    await page.getByRole("cell", { name: "other (44)" }).waitFor();
    expect(await page.getByRole("region", { name: "count", exact: true }).getByRole("row").count()).toBe(1 + 6 + 1);
  });

  test("twenty groups have twenty colours, more are found by their name, and a click shows one alone", async () => {
    const page = await explore({ groupBy: "city", limit: 20 });
    const colors = () =>
      legend(page)
        .locator("span:first-child")
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
    expect(new Set(await colors()).size).toBe(21);
    await page.getByLabel("Most groups").selectOption("50");
    const search = page.getByRole("searchbox", { name: "Find a series" });
    expect((await search.boundingBox())?.height).toBeLessThan(40);
    await search.fill("city 49");
    await expect.poll(() => legend(page).count()).toBe(1);
    const before = (await barsOf(page)).length;
    await legend(page).press("Enter");
    await expect.poll(async () => (await barsOf(page)).length).toBeLessThan(before);
    await search.fill("");
    await expect.poll(() => page.locator('[aria-label=Series] [aria-pressed="true"]').count()).toBe(1);
    await page.locator('[aria-label=Series] [aria-pressed="true"]').press("Enter");
    await expect.poll(() => page.locator('[aria-label=Series] [aria-pressed="false"]').count()).toBe(0);
  });

  test("a measure that is 20 times smaller has an axis at the right, and zooming out doubles the range", async () => {
    const series = [{ aggFn: "count" }, { aggFn: "avg", field: "big" }];
    const page = await explore({ display: "line", series });
    expect(await legendTexts(page)).toEqual([
      expect.stringMatching(/^count.* right axis$/),
      expect.not.stringContaining("right axis"),
    ]);
    await page.getByRole("button", { name: "Zoom out" }).press("Enter");
    await page.getByRole("button", { name: /^Time range: 2024-05-01 09:(30|29:59) to 2024-05-01 11:29:59/ }).waitFor();
  });

  test("one zone is chosen once: tooltips, rows, ranges and activities have it", async () => {
    const page = await explore({}, { timezoneId: "Europe/Berlin" });
    const first = (await barsOf(page))[0] as { from: number; y: number };
    await page.mouse.move(first.from + 5, first.y - 20);
    await tooltip(page).getByText("2024-05-01 12:00:00").waitFor();
    const row = page.getByRole("region", { name: "Rows" }).getByRole("button").first();
    expect(await row.textContent()).toContain("2024-05-01 12:56:00");
    const zones = page.getByLabel("Times in");
    expect(await zones.getByRole("option").count()).toBe(1);
    await zones.focus();
    await zones.selectOption("Asia/Tokyo");
    await expect.poll(() => row.textContent()).toContain("2024-05-01 19:56:00");
    await page.getByRole("button", { name: /^Time range: 2024-05-01 19:00 to/ }).waitFor();
    await page.getByRole("link", { name: "Activity" }).click();
    const tokyo = new Intl.DateTimeFormat("sv-SE", { timeZone: "Asia/Tokyo", dateStyle: "short" }).format(Date.now());
    await page
      .getByRole("cell", { name: new RegExp(`^${tokyo.slice(5)}`) })
      .first()
      .waitFor();
  });
});
