/** What the benchmark of the console measures, and how it watches the main thread of a page. */
import type { CDPSession, Page } from "playwright-core";

export type Measure = { readonly what: string; readonly value: number; readonly unit: string };

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

async function taskMs(client: CDPSession): Promise<number> {
  const { metrics } = await client.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
}
