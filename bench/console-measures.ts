/** What the benchmark of the console measures, and how it watches the main thread of a page. */
import type { CDPSession, Page } from "playwright-core";

export type Measure = { readonly what: string; readonly value: number; readonly unit: string };

/** Elements of a page. */
export type Wanted = { readonly selector: string; readonly text?: string; readonly count?: number };

/** Milliseconds that the page's main thread worked while `work` ran, whatever else the machine did. */
export async function workedMs(page: Page, work: () => Promise<unknown>): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await taskMs(client);
  await work();
  const after = await taskMs(client);
  await client.detach();
  return after - before;
}

/**
 * Resolves with the milliseconds since the navigation began when so many elements of a selector have a text like that.
 * Looked for at every frame: the library's own waiting looks twice a second after a while.
 */
export async function seenAfterMs(page: Page, { selector, text = "", count = 1 }: Wanted): Promise<number> {
  const seen = await page.waitForFunction(
    ([wanted, like, least]) => {
      type Doc = { querySelectorAll(selector: string): Iterable<{ textContent: string }> };
      const { document, performance } = globalThis as unknown as { document: Doc; performance: { now(): number } };
      const found = [...document.querySelectorAll(wanted)].filter((one) => new RegExp(like).test(one.textContent));
      return found.length >= least ? performance.now() : 0;
    },
    [selector, text, count] as const,
    { polling: "raf" },
  );
  return (await seen.jsonValue()) as number;
}

async function taskMs(client: CDPSession): Promise<number> {
  const { metrics } = await client.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
}
