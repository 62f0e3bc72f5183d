/** What long lists cost the page: 1,000 pipes of 100 services. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConsole } from "../harness/browser.ts";
import { serve } from "../harness/serve.ts";
import { median } from "./bench.ts";
import { type Measure, workedMs } from "./console-measures.ts";
import { seedPipes } from "./many-pipes.ts";

const rounds = 6;

export async function listMeasures(): Promise<Measure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-console-"));
  try {
    const first = await serve({ dataDir, keepData: true });
    await first.stop();
    await seedPipes(dataDir, first.credentials.organizationId, { services: 100, pipes: 1_000 });
    await using served = await serve({ dataDir, keepData: true });
    await using opened = await openConsole({ served });
    const { page } = await opened.open("/pipes");
    await page.getByRole("heading", { name: "1,000 pipes" }).waitFor();
    const filter = async (state: string, title: string) => {
      await page.getByLabel("State", { exact: true }).selectOption(state);
      await page.getByRole("heading", { name: title }).waitFor();
    };
    const times: number[] = [];
    for (let i = 0; i < rounds; i += 1) {
      await filter("trouble", "No pipe matches");
      times.push(await workedMs(page, () => filter("stopped", "1,000 pipes")));
    }
    await page.goto(`${served.credentials.baseUrl}/console/services`);
    const find = page.getByRole("searchbox");
    const row = (name: string) => page.getByRole("link", { name, exact: true });
    await row("service 99").waitFor();
    const findTimes: number[] = [];
    for (let i = 0; i < rounds; i += 1) {
      await find.fill("");
      await row("service 5").waitFor();
      findTimes.push(
        await workedMs(page, async () => {
          await find.fill("service 99");
          await row("service 5").waitFor({ state: "detached" });
        }),
      );
    }
    return [
      { what: "filterPipesMs", value: median(times), unit: "ms of the main thread, 1,000 pipes" },
      { what: "filterServicesMs", value: median(findTimes), unit: "ms of the main thread, 100 services" },
    ];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
