/** What a source has, in the steps of a new pipe: all of it can be reached, and each input has a name of its own. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { startTestStore, type TestStore } from "../../harness/objects/object-store.ts";
import { postgresMissing, TestPostgres } from "../../harness/postgres/postgres.ts";
import { runningService } from "../../harness/serve.ts";
import { namedAlike } from "./names.ts";

const missing = chromiumMissing ?? postgresMissing(18);
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("a source with more than a page", () => {
  let opened: ConsoleBrowser;
  let server: TestPostgres;
  let store: TestStore;
  beforeAll(async () => {
    [opened, server, store] = await Promise.all([openConsole(), TestPostgres.start(), startTestStore("flights")]);
    await runningService(opened.served, { name: "shop" });
    await server.sql(`DO $$ BEGIN FOR n IN 1..103 LOOP
      EXECUTE format('CREATE TABLE orders_%s (id bigint PRIMARY KEY)', lpad(n::text, 3, '0')); END LOOP; END $$`);
    for (let n = 1; n <= 103; n += 1) await store.put(`in/${String(n).padStart(3, "0")}.json`, '{"id":1}\n');
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  test("says that it has more tables, and shows them", async () => {
    const { page, problems } = await opened.open("/new-pipe");
    await page.getByRole("button", { name: "Postgres", exact: true }).click();
    await page.getByLabel("Host").fill(server.host);
    await page.getByLabel("Port").fill(String(server.port));
    await page.getByLabel("Database", { exact: true }).fill(server.database);
    await page.getByLabel("User").fill(server.user);
    await page.getByLabel("Password").fill(server.password);
    await page
      .getByLabel(/without TLS|TLS/)
      .first()
      .check();
    await page.getByRole("button", { name: "Test connection" }).click();
    await page.getByText("More than 100 tables were found.").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("The source has more than these.").waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("The source has more than these.").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "public.orders_001" }).check();
    await page.getByLabel("Find by name").fill("orders_103");
    await page.getByRole("checkbox", { name: "public.orders_103" }).check();
    await page.getByLabel("Find by name").fill("orders_");
    expect(await namedAlike(page.getByRole("main"))).toEqual([]);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("says that it has more objects, and columns that are added have names of their own", async () => {
    const { page } = await opened.open("/new-pipe");
    await page.getByRole("button", { name: "Amazon S3, MinIO" }).click();
    await page.getByLabel("URL").fill(`${store.endpoint}/${store.bucket}/in/*.json`);
    await page.getByLabel("Authentication").selectOption({ label: "Access key" });
    await page.getByLabel("Access key id").fill(store.accessKey.accessKeyId);
    await page.getByLabel("Secret key").fill(store.accessKey.secretKey);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("in/100.json").waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("in/103.json").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Field of id").waitFor();
    const saved = page.waitForResponse((one) => one.request().postData()?.split('"field"').length === 4);
    for (const place of [2, 3]) {
      await page.getByRole("button", { name: "Add column" }).click();
      await page.getByLabel(`Type of column ${place}`).waitFor();
    }
    expect(await namedAlike(page.getByRole("main"))).toEqual([]);
    // Its draft is not listed with the drafts of statements.
    await saved;
    await page.goto(`${opened.served.credentials.baseUrl}/console/sql`);
    await page.getByRole("tab", { name: "Saved" }).click();
    await page.getByRole("region", { name: "Your drafts" }).getByText("What you type is kept here.").waitFor();
  });
});
