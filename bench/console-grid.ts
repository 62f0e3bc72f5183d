/** What results cost: 10,000 rows of 50 columns, scrolled, and a value of 2 MB. */
import type { Page } from "playwright-core";
import type { ConsoleBrowser } from "../harness/browser.ts";
import type { BenchService } from "../harness/serve.ts";
import { median } from "./bench.ts";
import { type Measure, workedMs } from "./console-measures.ts";

const frames = 120;
/** As fast as a wheel that is turned hard: 10,000 pixels in a second. */
const rowsPerFrame = 6;
const moves = 10;

export async function gridMeasures(opened: ConsoleBrowser, service: BenchService): Promise<Measure[]> {
  const { page, context } = await opened.open(`/sql?service=${service.id}`);
  const columns = Array.from({ length: 49 }, (_, at) => `toString(number * ${at}) AS c${at}`).join(", ");
  await run(page, `SELECT number, ${columns} FROM numbers(10000)`, "10,000 rows");
  const { fps } = await scrolled(page);
  const frameMs = (await workedMs(page, () => scrolled(page))) / frames;
  await run(
    page,
    "SELECT if(number = 3, concat(repeat('x', 1000000), repeat('x', 1000000)), 'y') AS text, number FROM numbers(1000)",
    "1,000 rows",
  );
  const grid = page.getByRole("grid", { name: "Result" });
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  const moveTimes: number[] = [];
  for (let i = 0; i < moves; i += 1) {
    moveTimes.push(await workedMs(page, () => page.keyboard.press(i % 2 === 0 ? "ArrowDown" : "ArrowUp")));
  }
  for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowDown");
  const dialog = page.getByRole("dialog");
  const openMs = await workedMs(page, async () => {
    await page.keyboard.press("Enter");
    await dialog.getByText("xxx").first().waitFor();
  });
  await context.close();
  return [
    { what: "gridFrameMs", value: frameMs, unit: "ms of the main thread for a frame, 50 columns" },
    { what: "gridFps", value: fps, unit: "frames a second that were drawn" },
    { what: "largeCellMoveMs", value: median(moveTimes), unit: "ms of the main thread, beside 2 MB" },
    { what: "largeCellOpenMs", value: openMs, unit: "ms of the main thread, to read 2 MB" },
  ];
}

async function run(page: Page, text: string, outcome: string): Promise<void> {
  await page.getByRole("textbox", { name: "Statement" }).focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("region", { name: "Result" }).getByText(outcome).first().waitFor();
}

/** Moves the rows by some at every frame. */
async function scrolled(page: Page): Promise<{ fps: number }> {
  return await page.evaluate(
    async ([count, step]) => {
      type Frame = { scrollTop: number };
      type Grid = { parentElement: Frame };
      const { document, requestAnimationFrame } = globalThis as unknown as {
        document: { querySelector(selector: string): Grid };
        requestAnimationFrame: (run: () => void) => void;
      };
      const frame = document.querySelector("[role=grid]").parentElement;
      frame.scrollTop = 0;
      const start = performance.now();
      for (let i = 0; i < (count as number); i += 1) {
        frame.scrollTop += (step as number) * 28;
        await new Promise<void>((done) => requestAnimationFrame(done));
      }
      return { fps: ((count as number) * 1000) / (performance.now() - start) };
    },
    [frames, rowsPerFrame],
  );
}
