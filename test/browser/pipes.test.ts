/** Pipes in the console: made by keyboard, watched, and their refused rows loaded again. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { startTestStore, type TestStore } from "../../harness/objects/object-store.ts";
import { untilState } from "../../harness/pipes.ts";
import { type BenchService, query, runningService, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const hostile = `<img src=x onerror="document.title='stolen'">`;

describe.skipIf(chromiumMissing !== undefined)("pipes in the console", () => {
  let console_: ConsoleBrowser;
  let store: TestStore;
  let service: BenchService;

  beforeAll(async () => {
    [console_, store] = await Promise.all([openConsole(), startTestStore("flights")]);
    service = await runningService(console_.served, { name: "analytics" });
    await store.put("in/1.json", `{"id":1,"city":"Oslo"}\n{"id":2,"city":"Rome"}\n`);
  });
  afterAll(async () => {
    await console_?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await console_.closePages();
    expect(console_.problems()).toEqual([]);
  });

  test("a wrong bucket is told at its field, and a pipe is made with the keyboard alone", async () => {
    const { page, problems } = await console_.open("/pipes");
    await page.getByRole("heading", { name: "No pipes yet" }).waitFor();
    await press(page, page.getByRole("main").getByRole("link", { name: "New pipe" }).first());
    await press(page, page.getByRole("button", { name: "Amazon S3, MinIO" }));

    const url = page.getByLabel("URL");
    await type(page, url, `${store.endpoint}/no-such-bucket/in/*.json`);
    await choose(page, page.getByLabel("Authentication"), "Access key");
    await type(page, page.getByLabel("Access key id"), store.accessKey.accessKeyId);
    await type(page, page.getByLabel("Secret key"), store.accessKey.secretKey);
    await press(page, page.getByRole("button", { name: "Test connection" }));
    await expect.poll(() => url.getAttribute("aria-invalid")).toBe("true");
    expect(problems.splice(0)).toEqual([expect.stringMatching(/^4\d\d: POST .*sourceListing$/)]);

    await type(page, url, `${store.endpoint}/${store.bucket}/in/*.json`);
    await page.keyboard.press("Enter");
    await page.getByText("in/1.json").first().waitFor();
    await press(page, page.getByRole("button", { name: "Next" }));

    await page.getByRole("cell", { name: "Oslo" }).waitFor();
    await type(page, page.getByLabel("Table", { exact: true }), "cities");
    await press(page, page.getByRole("button", { name: "Next" }));

    await page.getByRole("list", { name: "Checks" }).getByText("connection").waitFor();
    await page.getByRole("tab", { name: "YAML file" }).waitFor();
    expect(await page.getByRole("region", { name: "YAML file" }).textContent()).not.toContain("secret/with=signs");
    await type(page, page.getByLabel("Name of the pipe"), "cities");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "cities" }).waitFor();
    await page.getByText("Running").first().waitFor();
    expect(page.url()).toContain(`/console/pipes/${service.id}/`);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  /** The steps of a new pipe up to its table. */
  async function throughBucket(page: Page, pattern: string): Promise<void> {
    await page.getByRole("button", { name: "Amazon S3, MinIO" }).click();
    await page.getByLabel("URL").fill(`${store.endpoint}/${store.bucket}/${pattern}`);
    await page.getByLabel("Authentication").selectOption({ label: "Access key" });
    await page.getByLabel("Access key id").fill(store.accessKey.accessKeyId);
    await page.getByLabel("Secret key").fill(store.accessKey.secretKey);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "List again" }).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
  }

  test("a draft survives a reload, without its secrets", async () => {
    const { page } = await console_.open("/new-pipe");
    await page.getByRole("button", { name: "Amazon S3, MinIO" }).click();
    await page.getByLabel("URL").fill("https://bucket.example/in/*.json");
    await page.getByLabel("Authentication").selectOption({ label: "Access key" });
    await page.getByLabel("Secret key").fill("not to be kept");
    await page.waitForURL(/draft=/);
    const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByLabel("Access key id").fill("AKIA");
    expect((await saved).request().postData()).not.toContain("not to be kept");
    await page.getByRole("link", { name: "Services", exact: true }).press("Enter");
    await page.getByText("the secrets that you have typed are lost").press("Escape");
    await page.reload();
    await page.getByLabel("URL").waitFor();
    expect(await page.getByLabel("URL").inputValue()).toBe("https://bucket.example/in/*.json");
    expect(await page.getByLabel("Secret key").inputValue()).toBe("");
    await page.goto(page.url().replace("step=2", "step=3"));
    await page.getByText("Secrets are not kept in a draft. Type them again to go on.").waitFor();
    await page.getByLabel("Secret key").waitFor();
  });

  test("each step says what was found, proposes names and the format, and tells a problem once", async () => {
    await store.put("wizard/trips/a.csv", "id,city\n1,Rom\n");
    const { page, problems } = await console_.open("/new-pipe");
    await page.getByRole("button", { name: "Amazon S3, MinIO" }).click();
    await page.getByLabel("URL").fill("not a url");
    await page.getByRole("button", { name: "Test connection" }).click();
    const input = page.getByLabel("URL");
    await expect.poll(() => input.getAttribute("aria-invalid")).toBe("true");
    expect(await page.getByRole("alert").filter({ hasText: "source.objectStorage" }).count()).toBe(0);
    problems.length = 0;
    await input.fill(`${store.endpoint}/${store.bucket}/wizard/trips/*.csv`);
    await page.getByLabel("Authentication").selectOption({ label: "Access key" });
    await page.getByLabel("Access key id").fill(store.accessKey.accessKeyId);
    await page.getByLabel("Secret key").fill(store.accessKey.secretKey);
    await page.getByRole("button", { name: "Test connection" }).click();
    await page.getByText(/^1 object, 14 B, CSVWithNames matches\./).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await expect.poll(() => page.getByLabel("Format").inputValue()).toBe("CSVWithNames");
    await page.getByRole("button", { name: "Next" }).click();
    await expect.poll(() => page.getByLabel("Table", { exact: true }).inputValue()).toBe("trips");
    await page.getByLabel("Column of id").or(page.getByLabel("Field of id")).first().waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    expect((await page.getByLabel("Type of id").boundingBox())?.width).toBeGreaterThan(120);
  });

  test("a refusal stands at its input, without the path of the API", async () => {
    const { page, problems } = await console_.open("/new-pipe");
    await page.getByRole("button", { name: "Postgres", exact: true }).click();
    for (const [label, text] of [
      ["Host", "127.0.0.1"],
      ["Port", "1"],
      ["Database", "shop"],
      ["User", "ann"],
    ] as const) {
      await page.getByLabel(label, { exact: true }).fill(text);
    }
    await page.getByRole("button", { name: "Test connection" }).click();
    const port = page.getByLabel("Port", { exact: true });
    await expect.poll(() => port.getAttribute("aria-invalid")).toBe("true");
    const told = await page.getByRole("alert").allTextContents();
    expect(told).toEqual([expect.stringMatching(/^nothing listens at 127\.0\.0\.1:1;/)]);
    problems.length = 0;
  });

  test("rows go into a table that exists, whose columns keep their types", async () => {
    await store.put("more/cities.csv", "id,city,noise\n3,Bern,x\n");
    await query(service, "CREATE TABLE places (id UInt8, city LowCardinality(String)) ENGINE = MergeTree ORDER BY id");
    await query(service, "INSERT INTO places VALUES (1, 'Oslo')");
    const { page } = await console_.open("/new-pipe");
    await throughBucket(page, "more/*.csv");
    await page.getByLabel("Load noise").waitFor();
    await page.getByLabel("Table", { exact: true }).fill("places");
    await page.getByRole("alert").getByText("default.places exists.").waitFor();
    await page.getByLabel("Create the table").uncheck();
    await page.getByText("The table has no column noise").waitFor();
    await page.getByLabel("Load noise").uncheck();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("list", { name: "Checks" }).waitFor();
    expect(await page.getByRole("region", { name: "YAML file" }).textContent()).toContain("UInt8");
    await page.getByRole("button", { name: "Create pipe" }).click();
    await page.getByRole("heading", { level: 1, name: "more" }).waitFor();
    await until("its rows are there", async () => (await query(service, "SELECT count() FROM places")).trim() === "2");
  });

  test("a file of the own computer is shown with its types, and the table begins with its columns", async () => {
    await store.put("wizard/trips/a.csv", "id,city\n1,Rom\n");
    const { page } = await console_.open("/new-pipe");
    const buffer = Buffer.from("at,shop,paid\n2026-01-01 10:00:00,Bern,true\n");
    const file = page.getByRole("region", { name: "Try a file" });
    await file.getByRole("button", { name: "Choose a file" }).waitFor();
    await page.getByLabel("File to try").setInputFiles({ name: "picture.png", mimeType: "image/png", buffer });
    await file.getByText("The name picture.png does not tell a format.").waitFor();
    await page.getByLabel("File to try").setInputFiles({ name: "shop sales.csv", mimeType: "text/csv", buffer });
    await file.getByRole("cell", { name: "Bern" }).waitFor();
    await file.getByRole("columnheader", { name: "at · DateTime" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await throughBucket(page, "wizard/trips/*.csv");
    await expect.poll(() => page.getByLabel("Table", { exact: true }).inputValue()).toBe("shop_sales");
    expect(await page.getByLabel("Type of paid").inputValue()).toBe("Bool");
    expect(await page.getByLabel("Sorting key").inputValue()).toBe("at");
  });

  test("refused rows are grouped, stay text, and are counted once after a replay", async () => {
    await store.put("in/2.json", `{"id":"${hostile.replaceAll('"', '\\"')}","city":"Bern"}\n`);
    // A pipe that has begun lists its bucket again at once.
    const [pipe] = await console_.served.api.listPipes({ params: service.params });
    const params = { ...service.params, pipeId: pipe?.id as string };
    await console_.served.api.updatePipeState({ params, body: { command: "stop" } });
    await untilState(console_.served, service, params.pipeId, "Stopped");
    await console_.served.api.updatePipeState({ params, body: { command: "start" } });
    const { page } = await console_.open("/pipes");
    await page.getByRole("link", { name: "cities" }).click();
    await page.getByText("1 row refused since it was created, 33 % of the rows that came.").waitFor();
    await page.getByRole("link", { name: "Show their causes" }).click();
    await page.getByText("1 cause").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Show rows" }).click();
    await page.getByText("onerror").first().waitFor();
    expect(await page.title()).not.toBe("stolen");
    expect(await page.locator("img[src=x]").count()).toBe(0);
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);

    await page.getByRole("button", { name: "Replay" }).click();
    const requests = page.getByRole("region", { name: "Replays and discards" });
    await requests.getByText("Nothing loaded").waitFor({ timeout: 60_000 });
    expect(await requests.getByRole("row").nth(1).getByRole("cell").nth(4).textContent()).toBe("1");
  });

  test("the overview and a link of the command line lead to the page of a pipe", async () => {
    const { page } = await console_.open("/");
    await page.getByRole("main").getByRole("link", { name: "cities" }).first().click();
    await page.getByRole("heading", { level: 1, name: "cities" }).waitFor();
    const path = new URL(page.url()).pathname.replace("/console", "");

    const pipeId = path.split("/").at(-1);
    for (const to of [path, `/pipes/${pipeId}`]) {
      const other = await console_.blank();
      await other.page.goto(`${await console_.link()}&to=${to}`);
      await other.page.getByRole("heading", { level: 1, name: "cities" }).waitFor();
      expect(other.page.url()).toBe(page.url());
    }
  });

  test("of two editors the second learns of the first, and loses nothing of his text", async () => {
    const [first, second] = await Promise.all([console_.open("/pipes"), console_.open("/pipes")]);
    for (const { page } of [first, second]) {
      await page.getByRole("link", { name: "cities" }).click();
      await page.getByRole("link", { name: "Configuration" }).click();
      await page.getByRole("button", { name: "Edit" }).click();
    }
    const concurrency = (page: Page) => page.getByLabel("Batches that are inserted at the same time");
    await concurrency(first.page).fill("3");
    await first.page.getByText("~ Batches that are inserted at the same time: default → 3").waitFor();
    await first.page.getByRole("button", { name: "Save" }).click();
    await first.page.getByRole("button", { name: "Edit" }).waitFor();

    await concurrency(second.page).fill("5");
    await second.page.getByRole("button", { name: "Save" }).click();
    await second.page.getByText("Somebody else has changed this pipe").waitFor();
    expect(await concurrency(second.page).inputValue()).toBe("5");
    expect(second.problems.splice(0)).toEqual([expect.stringMatching(/^412: PATCH /)]);
  });

  test("a change of which only a part is saved goes on from there", async () => {
    const { page, problems } = await console_.open("/pipes");
    await page.getByRole("link", { name: "cities" }).click();
    await page.getByRole("link", { name: "Configuration" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Threads that write").fill("2");
    await page.getByRole("textbox", { name: "Replicas" }).fill("9999");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/Replicas: Too big/).waitFor();
    expect(await page.getByRole("list", { name: "Changes" }).getByRole("listitem").allTextContents()).toEqual([
      "~ Replicas: default → 9999",
    ]);
    expect(problems.splice(0)).toEqual([expect.stringMatching(/^400: PATCH /)]);
    await page.getByRole("textbox", { name: "Replicas" }).fill("1");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Edit" }).waitFor();
  });

  test("what changes of a source is chosen as in the steps of a new pipe", async () => {
    const { page } = await console_.open("/pipes");
    await page.getByRole("link", { name: "cities" }).click();
    await page.getByRole("link", { name: "Configuration" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Authentication").selectOption({ label: "AWS role" });
    await page.getByRole("list", { name: "Changes" }).getByText("IAM_ROLE").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
  });

  test("a change is made and saved by keys alone, without a way through the form", async () => {
    const { page } = await console_.open("/pipes");
    await page.getByRole("link", { name: "cities" }).press("Enter");
    await page.getByRole("link", { name: "Configuration" }).press("Enter");
    const edit = page.getByRole("button", { name: "Edit" });
    await edit.press("Enter");
    await page.keyboard.press("End");
    await page.keyboard.type(" of Europe");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "cities of Europe" }).waitFor();
    await expect.poll(() => edit.evaluate((it) => it === document.activeElement)).toBe(true);

    await page.keyboard.press("Enter");
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("cities");
    await page.getByLabel("A line for each column").press("ControlOrMeta+Enter");
    await page.getByRole("heading", { level: 1, name: "cities", exact: true }).waitFor();
  });

  test("a list with long names breaks no short word, and hides no column", async () => {
    const columns = [{ name: "id", type: "UInt64" }];
    const tableDefinition = { engine: { type: "MergeTree" as const }, sortingKey: ["id"] };
    await console_.served.api.createPipe({
      params: service.params,
      body: {
        name: "a_name_of_sixty_characters_which_is_quite_long_for_a_screen_",
        source: { push: {} },
        destination: { database: "default", table: "pushed", managedTable: true, tableDefinition, columns },
        fieldMappings: [{ sourceField: "id", destinationField: "id" }],
      },
    });
    const { page } = await console_.open("/pipes");
    await page.getByText("default.pushed").waitFor();
    for (const width of [1440, 1100, 720, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const found = await page.evaluate(() => {
        const frame = document.querySelector("section:has(> table)") as HTMLElement;
        const wide = [document.documentElement, frame].filter((one) => one.scrollWidth > one.clientWidth);
        const texts = document.createTreeWalker(frame, NodeFilter.SHOW_TEXT);
        const broken: string[] = wide.map((one) => `${one.tagName} hides ${one.scrollWidth - one.clientWidth}`);
        while (texts.nextNode()) {
          const { data } = texts.currentNode as Text;
          for (const { 0: word, index } of data.matchAll(/[^\s.]{1,14}(?![^\s.])(?<![^\s.]{15})/g)) {
            const range = new Range();
            range.setStart(texts.currentNode, index);
            range.setEnd(texts.currentNode, index + word.length);
            if (range.getClientRects().length > 1) broken.push(word);
          }
        }
        return broken;
      });
      expect(found, `at ${width} pixels`).toEqual([]);
    }
  });

  test("another login is given with the choice of it, and goes with it", async () => {
    const { page } = await console_.open("/pipes");
    await page.getByRole("link", { name: "a_name_of_sixty" }).click();
    await page.getByRole("link", { name: "Configuration" }).click();
    for (const [scheme, shown] of [
      ["GitHub", "another one"],
      ["No: senders have a key", "default"],
    ] as const) {
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Signed requests").selectOption({ label: scheme });
      const secret = page.getByLabel("Secret of the signature");
      if (shown === "another one") await secret.fill("signed by both");
      await page.getByRole("list", { name: "Changes" }).getByText(shown).last().waitFor();
      await page.getByRole("button", { name: "Save" }).click();
    }
    await page.getByRole("button", { name: "Edit" }).waitFor();
    expect(await page.getByRole("button", { name: "Replace credentials" }).count()).toBe(0);
  });

  test("a key that may only read sees why it may not change anything, at 360 pixels too", async () => {
    const { organizationId } = console_.served.credentials;
    const body = { name: "reader", roles: ["read_only" as const] };
    const { keyId, keySecret } = await console_.served.api.createKey({ params: { organizationId }, body });
    const { page } = await console_.open("/pipes", { key: { keyId, keySecret } });
    await page.setViewportSize({ width: 360, height: 740 });
    // Two numbers share a line, so that several pipes fit the screen.
    const topOf = async (label: string) => (await page.locator(`td[data-label="${label}"]`).first().boundingBox())?.y;
    await page.getByRole("link", { name: "cities" }).waitFor();
    expect([await topOf("Rows/s"), await topOf("Refused")]).toEqual([await topOf("Lag"), await topOf("Rows")]);
    await page.getByRole("link", { name: "cities" }).click();
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await stop.waitFor();
    expect(await stop.getAttribute("aria-description")).toBe("Needs the role developer; this key has read_only.");
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(isWide).toBe(false);
    for (const form of ["new-pipe", "services/new", "alerts/new"]) {
      await page.goto(`${console_.served.credentials.baseUrl}/console/${form}`);
      await page.getByRole("heading", { name: "This key may not do this" }).waitFor();
      expect(await page.getByRole("main").getByRole("textbox").count()).toBe(0);
    }
  });
});

/** Moves the focus with Tab until it is on the element, as a user without a mouse. */
async function focus(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < 120; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("Tab does not reach the element");
}

async function press(page: Page, target: Locator): Promise<void> {
  await focus(page, target);
  await page.keyboard.press("Enter");
}

async function type(page: Page, target: Locator, text: string): Promise<void> {
  await focus(page, target);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
}

/** Selects an option by typing its first letters. */
async function choose(page: Page, target: Locator, label: string): Promise<void> {
  await focus(page, target);
  await page.keyboard.type(label);
}
