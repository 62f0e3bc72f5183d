/**
 * The console against a service and a source whose rows and names are hostile: markup, control characters, names of
 * members that every object has, very long and very wide. Everything stays text, and the pages stay usable.
 */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleBrowser, chromiumMissing, openConsole, type Watched } from "../../harness/browser.ts";
import { observabilityCall } from "../../harness/charts/observability.ts";
import { startTestStore, type TestStore } from "../../harness/objects/object-store.ts";
import { createPipe, untilState } from "../../harness/pipes.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

const markup = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>';
const texts = [
  markup,
  '"><svg onload="window.hacked = 1">',
  "javascript:window.hacked=1//",
  "{{constructor.constructor('window.hacked = 1')()}}",
  "\u202egnp.exe\u202c \u2066mixed\u2069 \u200b",
  "\u0001\u0007\u001b[2J\u0085",
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  "=HYPERLINK(1)",
  "x".repeat(200_000),
  "\u0300".repeat(5_000),
];
const names = ["__proto__", "constructor", "toString", "hasOwnProperty", markup, "\u202ename", "a'b`c\"d", "length"];
const quoted = (name: string) => `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
const literal = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const clickLimitMs = 10_000;

describe.skipIf(chromiumMissing !== undefined)("hostile rows", () => {
  let console_: ConsoleBrowser;
  let store: TestStore;
  let service: BenchService;
  const dialogs: string[] = [];
  const problems: string[][] = [];
  beforeAll(async () => {
    [console_, store] = await Promise.all([openConsole(), startTestStore("hostile")]);
    service = await runningService(console_.served, { name: "hostile", idleScaling: false });
    const columns = names.map((name) => `${quoted(name)} String`).join(", ");
    await query(
      service,
      `CREATE TABLE hostile (at DateTime64(3), body String, map Map(String, String), ${columns}) ENGINE = MergeTree ORDER BY at`,
    );
    for (const text of texts) {
      const values = names.map(() => "t").join(", ");
      await query(
        service,
        `INSERT INTO hostile SELECT now64(3), t, map('__proto__', t, 'constructor', 'c'), ${values} FROM (SELECT ${literal(text)} AS t)`,
      );
    }
  });
  afterAll(async () => {
    await console_?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await console_.closePages();
    expect(dialogs).toEqual([]);
    // Reports of the content security policy are among them.
    expect(problems.splice(0).flat()).toEqual([]);
  });

  const open = async (path: string): Promise<Watched> => {
    const watched = await console_.open(path);
    problems.push(watched.problems);
    watched.page.on("dialog", (dialog) => {
      // The secret of a pipe that is not created is asked about.
      if (dialog.type() === "beforeunload") return void dialog.accept();
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    return watched;
  };

  /** No script of a row has run, no object has got a member, and the page answers its user. */
  async function unharmed(page: Page): Promise<void> {
    const seen = await page.evaluate(() => ({
      hacked: (globalThis as { hacked?: number }).hacked,
      polluted: ({} as { polluted?: number }).polluted,
      added: Object.keys(Object.prototype),
      elements: document.querySelectorAll("img[src=x], script:not([src]):not([nonce]), svg[onload]").length,
      links: document.querySelectorAll('a[href^="javascript:" i]').length,
    }));
    expect(seen).toEqual({ hacked: undefined, polluted: undefined, added: [], elements: 0, links: 0 });
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link")
      .first()
      .click({ trial: true, timeout: clickLimitMs });
  }

  const write = async (page: Page, sql: string) => {
    await page.getByRole("textbox", { name: "Statement" }).focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(sql);
  };
  const run = async (page: Page, sql: string) => {
    await write(page, sql);
    await page.keyboard.press("Control+Enter");
  };
  /** Rows that are shown: the progress of a statement that runs counts those that were read. */
  const result = (page: Page, text: RegExp) =>
    page.getByRole("region", { name: "Result" }).getByRole("status").filter({ hasText: text }).first();

  test("in the grid of SQL results: rows, names, sorting, search and the inspector", async () => {
    const { page } = await open(`/sql?service=${service.id}`);
    await run(page, "SELECT * FROM hostile");
    await result(page, /^10 rows/).waitFor();
    const grid = page.getByRole("grid", { name: "Result" });
    await grid
      .getByRole("gridcell", { name: /<img src=x onerror/ })
      .first()
      .waitFor();
    for (const name of ["__proto__", "constructor", "toString"]) {
      await grid
        .getByRole("columnheader", { name: new RegExp(`^${name}`) })
        .getByRole("button")
        .click();
    }
    await grid.focus();
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().press("Enter");
    await page.getByRole("tab", { name: "Chart" }).click();
    await unharmed(page);
  });

  test("parameters with names of members that every object has are empty inputs", async () => {
    const { page } = await open(`/sql?service=${service.id}`);
    await write(page, "SELECT {constructor:String} AS a, {toString:String} AS b");
    const input = page.getByLabel("constructor", { exact: true });
    await input.waitFor();
    expect(await input.inputValue()).toBe("");
    await input.fill("given");
    await page.getByLabel("toString", { exact: true }).fill("too");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("gridcell", { name: "given" }).waitFor();
    await unharmed(page);
  });

  test("a cell of 10 MB and a row of 5,000 columns", async () => {
    const { page } = await open(`/sql?service=${service.id}`);
    await run(page, "SELECT repeat('<b>yy</b> ', 1000000) AS large, 1 AS n");
    await result(page, /^1 row\b/).waitFor();
    const grid = page.getByRole("grid", { name: "Result" });
    await grid.focus();
    for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    const dialog = page.getByRole("dialog", { name: "large, row 1" });
    await dialog.getByText("These are the first 100,000 characters").waitFor();
    await dialog.getByRole("button", { name: "Close", exact: true }).last().press("Enter");
    await unharmed(page);
    const columns = Array.from({ length: 5_000 }, (_, at) => `${at} AS \`c${at}\``).join(", ");
    await run(page, `SELECT ${columns} FROM numbers(50)`);
    await result(page, /^50 rows/).waitFor();
    await grid.focus();
    for (const key of ["ArrowDown", "End"]) await page.keyboard.press(key);
    await grid.getByRole("gridcell", { name: "4999", exact: true }).first().waitFor();
    expect(await grid.getByRole("gridcell").count()).toBeLessThan(2_000);
    await unharmed(page);
  });

  test("in Explore and on a dashboard: rows, fields, their values, and series by them", async () => {
    const source = {
      ...{ name: "hostile", kind: "log", serviceId: service.id, timestampValueExpression: "at" },
      ...{ from: { databaseName: "default", tableName: "hostile" }, bodyExpression: "body" },
    };
    expect((await observabilityCall(console_.served, "POST", "/api/v2/sources", source)).status).toBe(200);
    const { page } = await open("/explore");
    const list = page.getByRole("region", { name: "Rows" });
    await list
      .getByRole("button", { name: /<img src=x onerror/ })
      .first()
      .click();
    await page.getByRole("button", { name: "Only this body" }).first().waitFor();
    const fields = page.getByRole("complementary", { name: "Fields" });
    for (const name of ["__proto__", "constructor", "body"]) {
      await fields.getByRole("button", { name: new RegExp(`^${name}`) }).click();
    }
    await fields.getByRole("button", { name: /^Only constructor <img/ }).waitFor();
    await unharmed(page);
    await page.getByRole("textbox", { name: "Group by" }).focus();
    await page.keyboard.insertText("body");
    const figure = page.getByRole("figure").first();
    await figure.getByRole("button", { name: /^<img src=x/ }).waitFor();
    await unharmed(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    await page.getByLabel("Title").fill(markup);
    await page.keyboard.press("Enter");
    await page.getByText(/is on the dashboard\./).waitFor();
    await page.goto(`${console_.served.credentials.baseUrl}/console/dashboards`);
    await page.getByRole("link", { name: /<img src=x/ }).press("Enter");
    await page.getByRole("figure", { name: /<img src=x/ }).waitFor();
    await unharmed(page);
  });

  test("in the preview of a pipe, and among its refused rows", async () => {
    const rows = texts.slice(0, 8).map((text, at) => {
      const members = at % 2 === 0 ? { [names[at] as string]: text } : Object.fromEntries([["constructor", text]]);
      return JSON.stringify({ id: at, body: text, ...members });
    });
    // `__proto__` as the member of an object literal would set its prototype.
    await store.put(
      "in/1.json",
      [...rows, '{"id":9,"__proto__":"p","toString":"t","nested":{"__proto__":{"polluted":1}}}', ""].join("\n"),
    );
    const { page } = await open("/new-pipe");
    await page.getByRole("button", { name: "Amazon S3, MinIO" }).click();
    await page.getByLabel("URL").fill(`${store.endpoint}/${store.bucket}/in/*.json`);
    await page.getByLabel("Authentication").selectOption({ label: "Access key" });
    await page.getByLabel("Access key id").fill(store.accessKey.accessKeyId);
    await page.getByLabel("Secret key").fill(store.accessKey.secretKey);
    await page.getByRole("button", { name: "Test connection" }).click();
    await page.getByText(/^1 object, /).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Next" }).click();
    await page
      .getByRole("cell", { name: /<img src=x onerror/ })
      .first()
      .waitFor();
    await unharmed(page);
    const bad = [...texts.map((text) => JSON.stringify({ id: text, body: text })), '{"id":1,"body":"whole"}'];
    await store.put("bad/<img src=x onerror=1>.json", bad.join("\n"));
    const { endpoint, bucket, accessKey } = store;
    const fields = ["id", "body"];
    const pipeId = await createPipe(console_.served, service, {
      name: markup,
      source: { objectStorage: { url: `${endpoint}/${bucket}/bad/*`, authentication: "IAM_USER", accessKey } },
      destination: {
        ...{ table: "refused", managedTable: true },
        tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["id"] },
        columns: [
          { name: "id", type: "UInt64" },
          { name: "body", type: "String" },
        ],
      },
      fieldMappings: fields.map((name) => ({ sourceField: name, destinationField: name })),
    });
    await untilState(console_.served, service, pipeId, "Completed");
    await page.goto(`${console_.served.credentials.baseUrl}/console/pipes/${service.id}/${pipeId}/errors`);
    await page
      .getByText(/<img src=x onerror/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: /rows/i }).first().click();
    await unharmed(page);
  });
});
