/** How soon the screens that people work with can be used, from the navigation on with an empty cache. */
import type { ConsoleBrowser } from "../harness/browser.ts";
import { median } from "./bench.ts";
import { type Measure, seenAfterMs, type Wanted } from "./console-measures.ts";

const loads = 5;

/** What is there when the screen can be used; the path is below `/console`. */
export type Screen = Wanted & { readonly what: string; readonly path: string };

/** The median time of each screen, and the longest task of the main thread of a median load of any of them. */
export async function screenMeasures(opened: ConsoleBrowser, screens: readonly Screen[]): Promise<Measure[]> {
  const { context: signedIn } = await opened.open("/");
  const storageState = await signedIn.storageState();
  await signedIn.close();
  const measures: Measure[] = [];
  const longest: number[] = [];
  for (const { what, path, ...wanted } of screens) {
    const times: number[] = [];
    const tasks: number[] = [];
    for (let i = 0; i < loads; i += 1) {
      const context = await opened.browser.newContext({ storageState, viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      await page.addInitScript(watchTasks);
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      times.push(await seenAfterMs(page, wanted));
      tasks.push(await page.evaluate(() => (globalThis as unknown as { longestTask: number }).longestTask));
      await context.close();
    }
    measures.push({ what, value: median(times), unit: "ms" });
    longest.push(median(tasks));
  }
  return [...measures, { what: "longestTaskMs", value: Math.max(...longest), unit: "ms of the main thread" }];
}

/** Runs in the page. Tasks of less than 50 ms are none. */
function watchTasks(): void {
  type Tasks = { getEntries(): readonly { readonly duration: number }[] };
  type Observer = new (seen: (tasks: Tasks) => void) => { observe(what: object): void };
  const page = globalThis as unknown as { longestTask: number; PerformanceObserver: Observer };
  page.longestTask = 0;
  new page.PerformanceObserver((tasks) => {
    for (const { duration } of tasks.getEntries()) page.longestTask = Math.max(page.longestTask, duration);
  }).observe({ type: "longtask", buffered: true });
}
