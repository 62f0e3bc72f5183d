/** A service that fails before it has ever run: each screen says so, and no button does what cannot be done. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { kill } from "../../harness/chaos.ts";
import { until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("a service that has failed", () => {
  let opened: ConsoleBrowser;
  let serviceId: string;
  beforeAll(async () => {
    opened = await openConsole();
    const { api, credentials, dataDir } = opened.served;
    const params = { organizationId: credentials.organizationId };
    const { service } = await api.createService({ params, body: { name: "broken" } });
    serviceId = service.id;
    await until("the service has failed", async () => {
      kill(`${dataDir}/services/${serviceId}/engine.pid`);
      return (await api.getService({ params: { ...params, serviceId } })).state === "failed";
    });
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());

  test("offers neither a backup nor a statement, and claims nothing of its tables", async () => {
    const { page, problems } = await opened.open(`/services/${serviceId}`);
    await page.getByRole("heading", { name: "Not known yet" }).waitFor();
    await page.getByText("Ran for less than a minute of the last 24 hours").waitFor();
    expect(await page.getByText("No tables").count()).toBe(0);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    const go = async (path: string) => await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
    const buttons: Record<string, RegExp> = {
      "/backups": /^Back up now/,
      [`/backups/${serviceId}`]: /^Back up now/,
      [`/sql?service=${serviceId}&q=SELECT+1`]: /^Run$/,
    };
    for (const [path, name] of Object.entries(buttons)) {
      await go(path);
      const refused = page.getByRole("button", { name, description: "The service has failed. Start it first." });
      await refused.first().waitFor();
      const others = async () => (await page.getByRole("button", { name }).count()) - (await refused.count());
      await expect.poll(others).toBe(0);
    }
    await go("/services");
    await page
      .getByRole("region", { name: "Services" })
      .getByText(/^Gave up after/)
      .waitFor();
    await go("/");
    await page
      .getByRole("listitem")
      .getByText(/^Gave up after/)
      .waitFor();
    expect(problems).toEqual([]);
  });
});
