/** Services in the console: every job by keyboard or by role, mistakes at their field, and nothing that wakes. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";
import { type BenchService, runningService, until } from "../../harness/serve.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("services in the console", () => {
  let opened: ConsoleBrowser;
  let service: BenchService;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    opened = await openConsole();
    ({ page, problems } = await opened.open());
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(() => expect(opened.problems()).toEqual([]));

  const go = async (path: string) => await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);

  test("without anything, the overview shows the first steps", async () => {
    await page.getByRole("heading", { name: "1. Create a service" }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
  });

  test("the keyboard alone creates a service, and its password is shown once", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.getByRole("heading", { name: "No service yet" }).waitFor();
    await page.getByRole("link", { name: "Create service" }).first().focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name", { exact: true }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByLabel("Name", { exact: true }).focus();
    await page.keyboard.type("keyboard made");
    await page.getByLabel("Disk quota in GiB").focus();
    await page.keyboard.type("ten");
    await page.keyboard.press("Enter");
    await page
      .getByRole("alert")
      .filter({ hasText: /number/i })
      .waitFor();
    expect(problems.splice(0)).toEqual([expect.stringMatching(/^400: POST .*\/services$/)]);
    await page.getByLabel("Disk quota in GiB").fill("");
    // What is filled in is left only after a question.
    await page.goBack();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Disk quota in GiB").press("Enter");
    const dialog = page.getByRole("dialog", { name: "Connect to keyboard made" });
    await dialog.waitFor();
    const password = await dialog.getByLabel("Password", { exact: true }).inputValue();
    expect(password.length).toBeGreaterThan(10);
    expect(await dialog.getByRole("region", { name: "curl snippet" }).textContent()).toContain("$CLICKHOUSE_PASSWORD");
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1, name: "keyboard made" }).waitFor();
    expect(await page.content()).not.toContain(password);
    await page.getByText("Running", { exact: true }).waitFor();
  });

  test("the list filters by name and state in its address, and / reaches the filter", async () => {
    const tags = [
      { key: "team", value: "a-name-that-is-longer-than-a-line" },
      { key: "applied.service.1", value: "default" },
    ];
    service = await runningService(opened.served, { name: "second <b>hostile</b>", tags });
    await go("/services");
    const link = page.getByRole("link", { name: "second <b>hostile</b>" });
    await link.waitFor();
    // Tags leave the name its line, and the marks of `millrace apply` are not among them.
    await page.setViewportSize({ width: 360, height: 740 });
    expect((await link.boundingBox())?.height).toBeLessThan(30);
    expect(await page.getByText("team=a-name").count()).toBe(1);
    expect(await page.getByText("applied.").count()).toBe(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("second");
    await page.getByText("1 of 2").waitFor();
    await expect.poll(() => page.url()).toContain("q=second");
    await page.reload();
    await page.getByText("1 of 2").waitFor();
  });

  test("looking at a service sends no query to it, and asks only with GET", async () => {
    const before = await opened.served.api.getService({ params: service.params });
    const methods = new Set<string>();
    page.on("request", (request) => methods.add(request.method()));
    for (const tab of ["", "/access", "/settings"]) {
      await go(`/services/${service.id}${tab}`);
      await page.getByRole("heading", { level: 1, name: "second" }).waitFor();
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      if (tab === "") await page.getByText("The process of the engine takes more: System shows it").waitFor();
      expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    }
    page.removeAllListeners("request");
    expect(methods).toEqual(new Set(["GET"]));
    const after = await opened.served.api.getService({ params: service.params });
    expect(after.idle.lastQueryAt).toBe(before.idle.lastQueryAt);
  });

  test("users are added and deleted; a wrong name is told at its field", async () => {
    await go(`/services/${service.id}/access`);
    await page.getByRole("button", { name: "Add user" }).click();
    await page.getByLabel("Name", { exact: true }).fill("1 wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "must start with a letter" }).waitFor();
    problems.length = 0;
    await page.getByLabel("Name", { exact: true }).fill("reader");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "User reader" });
    expect((await dialog.getByLabel("Password", { exact: true }).inputValue()).length).toBeGreaterThan(10);
    await dialog.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("button", { name: "Delete reader" }).click();
    await page.getByRole("button", { name: "Delete user" }).click();
    await page.getByRole("button", { name: "Delete reader" }).waitFor({ state: "detached" });
  });

  test("an address is added with its mistake told, and the last one goes only after the name was typed", async () => {
    await go(`/services/${service.id}/access`);
    await page.getByRole("button", { name: "Add address" }).click();
    await page.getByLabel("Address or CIDR range").fill("10.0.0.0/99");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "must be an IP address" }).waitFor();
    problems.length = 0;
    await page.getByLabel("Address or CIDR range").fill("10.0.0.0/8");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: /0\.0\.0\.0\/0 Admits you/ }).waitFor();
    expect(await page.getByRole("row", { name: /10\.0\.0\.0\/8/ }).textContent()).not.toContain("Admits you");
    await page.getByText("Your address is 127.0.0.1.").waitFor();
    for (const source of ["0.0.0.0/0", "::/0"]) {
      await page.getByRole("button", { name: `Remove ${source}` }).click();
      await page.getByRole("button", { name: "Remove address" }).click();
      await page.getByRole("button", { name: `Remove ${source}` }).waitFor({ state: "detached" });
    }
    await page.getByText("Your address is 127.0.0.1: no entry admits it.").waitFor();
    await page.getByRole("button", { name: "Remove 10.0.0.0/8" }).click();
    await page.getByText("without it, nobody can connect").waitFor();
    expect(await page.getByRole("button", { name: "Remove address" }).getAttribute("aria-disabled")).toBe("true");
    await page.keyboard.press("Escape");
    const { ipAccessList } = await opened.served.api.getService({ params: service.params });
    expect(ipAccessList.map(({ source }) => source)).toEqual(["10.0.0.0/8"]);
  });

  test("settings show their difference before they are saved, and a second editor is told", async () => {
    const other = await opened.open(`/services/${service.id}/settings`);
    await other.page.getByLabel("Name", { exact: true }).fill("other name");
    await go(`/services/${service.id}/settings`);
    await page.getByLabel("Name", { exact: true }).fill("first name");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("row", { name: /Name second <b>hostile<\/b> first name/ }).waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "first name" }).waitFor();

    await other.page.getByRole("button", { name: "Review changes" }).click();
    await other.page.getByRole("button", { name: "Save" }).click();
    await other.page.getByText("Someone else has changed this service meanwhile").waitFor();
    expect(other.problems.splice(0)).toEqual([expect.stringContaining("412: PATCH")]);
    await other.page.getByRole("button", { name: "Load the other version" }).click();
    await expect.poll(() => other.page.getByLabel("Name", { exact: true }).inputValue()).toBe("first name");
    await other.context.close();
  });

  test("a key that may only read sees every control, with the reason why not", async () => {
    const { organizationId } = opened.served.credentials;
    const body = { name: "reader", roles: ["read_only" as const] };
    const key = await opened.served.api.createKey({ params: { organizationId }, body });
    const reader = await opened.open(`/services/${service.id}`, { key });
    const stop = reader.page.getByRole("button", { name: "Stop" });
    await stop.waitFor();
    expect(await stop.getAttribute("aria-disabled")).toBe("true");
    expect(await stop.getAttribute("aria-description")).toBe("Needs the role developer; this key has read_only.");
    await stop.click({ force: true });
    expect((await opened.served.api.getService({ params: service.params })).state).not.toMatch(/stop/);
    const status = await reader.page.evaluate(async (path) => {
      const headers = { "content-type": "application/json", "x-millrace-console": "1" };
      return (await fetch(path, { method: "PATCH", headers, body: '{"command":"stop"}' })).status;
    }, `/v1/organizations/${organizationId}/services/${service.id}/state`);
    expect(status).toBe(403);
    // So do the links to forms that the key could not send.
    const forms = {
      "/services": "Create service",
      "/pipes": "New pipe",
      "/alerts": "New alert",
      "/backups": "Alert me",
    };
    for (const [path, name] of Object.entries(forms)) {
      await reader.page.goto(new URL(`/console${path}`, reader.page.url()).href);
      const form = reader.page.getByRole("button", { name, exact: true }).first();
      expect(await form.getAttribute("aria-description")).toMatch(/^Needs the role/);
      expect(await reader.page.getByRole("link", { name, exact: true }).count()).toBe(0);
    }
    reader.problems.length = 0;
    await reader.context.close();
  });

  test("the palette finds a service by name and id, and runs its commands", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Name, id or action" }).waitFor();
    await page.keyboard.type(service.id.slice(0, 8));
    await page.getByRole("option").first().waitFor();
    expect(await accessibilityProblemsInBothThemes(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain(service.id);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("stop first");
    await page.getByRole("option", { name: "Stop first name" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("Stopped", { exact: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
  });

  test("a refused button says why on focus, and the first Esc closes its tooltip and the dialog", async () => {
    await go(`/services/${service.id}`);
    await page.getByRole("button", { name: "Actions of first name" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.getByRole("tooltip", { includeHidden: true }).getByText("Type first name first.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("tooltip", { includeHidden: true }).waitFor({ state: "hidden" });
  });

  test("a stopped service is deleted after its name was typed", async () => {
    await until(
      "stopped",
      async () => (await opened.served.api.getService({ params: service.params })).state === "stopped",
    );
    await go(`/services/${service.id}`);
    await page.getByRole("button", { name: "Actions of first name" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("textbox").fill("first name");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
    await page.getByRole("link", { name: "first name" }).waitFor({ state: "detached" });
    // The last look at the service may come after its end.
    await go("/services");
    expect(problems.splice(0).length).toBeLessThan(3);
  });

  test("no screen is wider than 360 pixels", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    const [kept] = await opened.served.api.listServices({ params: { organizationId: service.params.organizationId } });
    const ofService = ["", "/access", "/settings"].map((tab) => [`/services/${kept?.id}${tab}`, "Overview"]);
    const screens = [
      ["/", "Recent activity"],
      ["/services", "1 service"],
      ["/services/new", "Who may connect"],
      ...ofService,
    ];
    for (const [path, text] of screens as [string, string][]) {
      await go(path);
      await page.getByRole("main").getByText(text).first().waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(360);
    }
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Services" }).click();
    await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a server that is killed is told, what was seen stays, and the network's return is noticed", async () => {
    await go("/services");
    await page.getByRole("link", { name: "keyboard made" }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("Millrace does not answer since").waitFor();
    await page.context().setOffline(false);
    await page.getByText("Millrace does not answer since").waitFor({ state: "detached" });
    opened.served.process.kill("SIGKILL");
    await page.getByText("Millrace does not answer since").waitFor();
    expect(await page.getByRole("link", { name: "keyboard made" }).isVisible()).toBe(true);
    expect(problems.every((problem) => problem.startsWith("failed: GET "))).toBe(true);
    problems.length = 0;
  });
});
