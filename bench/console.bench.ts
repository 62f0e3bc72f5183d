import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { type ConsoleBrowser, openConsole } from "../harness/browser.ts";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { runningService } from "../harness/serve.ts";
import { type BenchResult, median, round } from "./bench.ts";
import { chartMeasures } from "./console-charts.ts";
import { gridMeasures } from "./console-grid.ts";
import { listMeasures } from "./console-lists.ts";
import { type Measure, seenAfterMs, workedMs } from "./console-measures.ts";
import { type Screen, screenMeasures } from "./console-screens.ts";

export const description =
  "the console: sizes, time to interactive, route changes, and the server's cost of one open list";

const loads = 5;
const routeChanges = 10;
const polls = 400;
const dist = fileURLToPath(new URL("../dist/console/", import.meta.url));

export async function run(): Promise<BenchResult> {
  await using opened = await openConsole();
  const service = await runningService(opened.served, { idleScaling: false });
  const signedIn = await opened.open();
  const charts = await chartMeasures(opened, service);
  const measures = [
    ...sizes(await assetsOf(signedIn.page)),
    ...(await loadTimes(opened, signedIn.context)),
    await routeChange(signedIn.page),
    await pollCost(opened),
    ...(await sqlPage(opened)),
    ...charts.measures,
    ...(await screenMeasures(opened, screensWith(charts.dashboardId))),
    ...(await gridMeasures(opened, service)),
    ...(await listMeasures()),
  ];
  return {
    rows: measures.map(({ what, value, unit }) => ({ what, value: round(value), unit })),
    summary: Object.fromEntries(measures.map(({ what, value }) => [what, round(value)])),
  };
}

function screensWith(dashboardId: string): Screen[] {
  return [
    { what: "sqlMs", path: "/sql", selector: ".cm-content[aria-label=Statement]" },
    { what: "exploreMs", path: "/explore", selector: "section[aria-label=Rows] .muted", text: "^[0-9]+ " },
    { what: "dashboardMs", path: `/dashboards/${dashboardId}`, selector: "canvas", count: 4 },
  ];
}

/** Files that the first page needs. */
async function assetsOf(page: Page): Promise<string[]> {
  const fresh = await page.context().newPage();
  const names = namesOf(fresh);
  await fresh.goto(page.url());
  await interactive(fresh);
  await fresh.close();
  return names;
}

/** Names of the console's files that a page loads from now on. */
function namesOf(page: Page): string[] {
  const names: string[] = [];
  page.on("response", (response) => {
    const name = /\/assets\/(.+)$/.exec(new URL(response.url()).pathname)?.[1];
    if (name !== undefined) names.push(name);
  });
  return names;
}

/** What the SQL page loads besides the first page, until a statement can be written. */
async function sqlPage(opened: ConsoleBrowser): Promise<Measure[]> {
  const { page, context } = await opened.open("/");
  await interactive(page);
  const names = namesOf(page);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "SQL" }).click();
  await page.getByRole("textbox", { name: "Statement" }).waitFor();
  await context.close();
  return [{ what: "sqlPageScriptKb", value: gzipKb(names, ".js"), unit: "kB gzip" }];
}

function gzipKb(assets: readonly string[], ending: string): number {
  const files = assets.filter((name) => name.endsWith(ending));
  return files.reduce((sum, name) => sum + compressedBytes(join(dist, "assets", name)), 0) / 1000;
}

function sizes(assets: readonly string[]): Measure[] {
  const all = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const bytes = all.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
  return [
    { what: "firstLoadScriptKb", value: gzipKb(assets, ".js"), unit: "kB gzip" },
    { what: "firstLoadFiles", value: assets.length, unit: "scripts and styles, one connection each" },
    { what: "firstLoadStyleKb", value: gzipKb(assets, ".css"), unit: "kB gzip" },
    { what: "diskMb", value: bytes / 1e6, unit: "MB with compressed copies" },
  ];
}

/** Small files have no compressed copy. */
function compressedBytes(file: string): number {
  return (statSync(`${file}.gz`, { throwIfNoEntry: false }) ?? statSync(file)).size;
}

/** From the navigation until the overview shows its numbers, with an empty cache. */
async function loadTimes(opened: ConsoleBrowser, signedIn: BrowserContext): Promise<Measure[]> {
  const storageState = await signedIn.storageState();
  const url = `${opened.served.credentials.baseUrl}/console/`;
  const measure = async (slowdown: number) => {
    const context = await opened.browser.newContext({ storageState });
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    let time = Number.NaN;
    const worked = await workedMs(page, async () => {
      await page.goto(url);
      time = await interactive(page);
    });
    await context.close();
    return { time, worked };
  };
  const times = { 1: [] as number[], 4: [] as number[] };
  const work: number[] = [];
  for (let i = 0; i < loads; i += 1) {
    for (const rate of [1, 4] as const) {
      const { time, worked } = await measure(rate);
      times[rate].push(time);
      if (rate === 1) work.push(worked);
    }
  }
  return [
    { what: "interactiveMs", value: median(times[1]), unit: "ms" },
    { what: "loadWorkMs", value: median(work), unit: "ms of the main thread until then" },
    { what: "interactiveSlowMs", value: median(times[4]), unit: "ms at a fourth of the speed" },
  ];
}

/** Milliseconds since the navigation began at which the panel of the overview is there. */
async function interactive(page: Page): Promise<number> {
  return await seenAfterMs(page, { selector: "h2", text: "^Needs attention" });
}

/** Between two lists that are loaded: from the click until the new title is drawn. */
async function routeChange(page: Page): Promise<Measure> {
  const change = async (link: string, title: string) =>
    await page.evaluate(
      async ([name, heading]) => {
        type Doc = { querySelectorAll(selector: string): Iterable<{ textContent: string; click(): void }> };
        const { document, requestAnimationFrame } = globalThis as unknown as {
          document: Doc;
          requestAnimationFrame: (run: () => void) => void;
        };
        const find = (selector: string, text: string) =>
          [...document.querySelectorAll(selector)].find((element) => element.textContent.trim() === text);
        const start = performance.now();
        find("nav a", name as string)?.click();
        while (find("h1", heading as string) === undefined)
          await new Promise<void>((done) => requestAnimationFrame(done));
        return performance.now() - start;
      },
      [link, title],
    );
  await change("Services", "Services");
  await change("Overview", "Overview");
  const times: number[] = [];
  for (let i = 0; i < routeChanges; i += 1) {
    times.push(await change("Services", "Services"), await change("Overview", "Overview"));
  }
  return { what: "routeChangeMs", value: median(times), unit: "ms" };
}

/** Processor time of the server for one poll of the list of services whose answer has not changed. */
async function pollCost({ served }: ConsoleBrowser): Promise<Measure> {
  const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
  const url = `${baseUrl}/v1/organizations/${organizationId}/pipes`;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const tag = (await fetch(url, { headers: { authorization } })).headers.get("etag") ?? "";
  const pid = served.process.pid as number;
  const before = cpuSecondsOf(pid);
  for (let i = 0; i < polls; i += 1) {
    await (await fetch(url, { headers: { authorization, "if-none-match": tag } })).text();
  }
  return { what: "pollMs", value: ((cpuSecondsOf(pid) - before) * 1000) / polls, unit: "ms of a core" };
}
