/** A service moves to a server in the console: problems at their field, the plan first, progress, cancelling. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { serverUser, TestServer } from "../../harness/clickhouse/server.ts";
import { type BenchService, query, runningService } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("moving a service in the console", () => {
  let opened: ConsoleBrowser;
  let server: TestServer;
  let service: BenchService;
  let page: Page;
  let problems: string[];
  /** The server refuses to make every table of the service, until it is restarted without this. */
  const limits = ["<max_table_num_to_throw>1</max_table_num_to_throw>"];
  beforeAll(async () => {
    [opened, server] = await Promise.all([openConsole(), TestServer.start({ configuration: limits })]);
    service = await runningService(opened.served, { name: "outgrown", idleScaling: false });
    await query(service, "CREATE TABLE t (id UInt64) ENGINE = MergeTree ORDER BY id");
    await query(service, "INSERT INTO t SELECT number FROM numbers(1000)");
    await query(service, "CREATE TABLE scratch (id UInt64) ENGINE = Log");
    for (const name of ["u", "v"])
      await query(service, `CREATE TABLE ${name} (id UInt64) ENGINE = MergeTree ORDER BY id`);
    ({ page, problems } = await opened.open(`/services/${service.id}`));
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  afterEach(() => expect(opened.problems()).toEqual([]));

  const expectProblem = (pattern: RegExp) => expect(problems.splice(0)).toEqual([expect.stringMatching(pattern)]);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const picture = async (name: string) => {
    if (process.env.PICTURES === undefined) return;
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${process.env.PICTURES}/${name}-${colorScheme}.png`, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: null });
  };
  async function plan(): Promise<void> {
    await page.getByLabel("URLs").fill(server.url);
    await page.getByLabel("User", { exact: true }).fill(serverUser.name);
    await page.getByLabel("Password", { exact: true }).fill(serverUser.password);
    await button("Show the plan").click();
    await page.getByRole("heading", { name: "What will be moved" }).waitFor();
  }

  test("the menu leads to it, and a wrong password is named at its field", async () => {
    await button("Actions of outgrown").click();
    await page.getByRole("menuitem", { name: "Move to a server" }).click();
    await page.getByRole("heading", { name: "Move to a ClickHouse server" }).waitFor();
    // A service that was never moved has no move.
    expectProblem(/^404: GET .*\/move$/);
    await page.getByLabel("URLs").fill(server.url);
    await page.getByLabel("User", { exact: true }).fill(serverUser.name);
    await page.getByLabel("Password", { exact: true }).fill("wrong");
    await button("Show the plan").click();
    await page.getByRole("alert").filter({ hasText: "refuses the user owner" }).waitFor();
    expectProblem(/^400: POST .*\/movePlan$/);
    expect(await page.getByLabel("Password", { exact: true }).getAttribute("aria-invalid")).toBe("true");
    await page.goBack();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture("move-form");
  });

  test("the plan says what is moved and what not, and the move waits for the decision", async () => {
    await plan();
    await page.getByRole("row", { name: /default\.t table 1,000/ }).waitFor();
    await page.getByText("the engine Log cannot be moved").waitFor();
    expect(await button("Move the service").getAttribute("aria-disabled")).toBe("true");
    await page.getByLabel("Leave these behind").check();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture("move-plan");
    // Another target makes another plan necessary.
    await page.getByLabel("Cluster").fill("x");
    await page.getByRole("heading", { name: "What will be moved" }).waitFor({ state: "detached" });
    await page.getByLabel("Cluster").fill("");
  });

  test("a move that cannot go on says why, and cancelling leaves nothing on the server", async () => {
    await plan();
    await page.getByLabel("Leave these behind").check();
    await button("Move the service").click();
    await page.getByText(/tries again by itself: .*TOO_MANY_TABLES/).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture("move-progress");
    await page.reload();
    await button("Cancel the move").click();
    const dialog = page.getByRole("dialog", { name: "Cancel the move of outgrown?" });
    await dialog.getByRole("button", { name: "Cancel the move" }).click();
    await page.getByText(/The last move was cancelled/).waitFor();
    expect(await server.client.text("SELECT count() FROM system.tables WHERE database = 'default'")).toBe("0\n");
    expect(await query(service, "SELECT count() FROM t")).toBe("1000");
  });

  test("a move ends with the rows on the server, and leads to the service that keeps the old side", async () => {
    limits.length = 0;
    await server.restart();
    await page.reload();
    await plan();
    await page.getByLabel("Leave these behind").check();
    await button("Move the service").click();
    await page.getByText(/The service was moved/).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await picture("move-done");
    expect(await server.client.text("SELECT count() FROM default.t")).toBe("1000\n");
    await page.getByRole("link", { name: "Open the old side" }).click();
    await page.getByRole("heading", { level: 1, name: "outgrown (before the move)" }).waitFor();
  });
});
