/** Signing in and out, and what protects a session from other pages. */
import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityProblemsInBothThemes,
  type ConsoleBrowser,
  chromiumMissing,
  openConsole,
} from "../../harness/browser.ts";

if (chromiumMissing !== undefined) console.log(`skipped: ${chromiumMissing}`);

describe.skipIf(chromiumMissing !== undefined)("sessions of the console", () => {
  let opened: ConsoleBrowser;
  beforeAll(async () => {
    opened = await openConsole();
  });
  afterAll(async () => await opened?.[Symbol.asyncDispose]());
  afterEach(async () => {
    await opened.closePages();
    expect(opened.problems()).toEqual([]);
  });

  test("a link signs in once, shows the page of its address, and leaves no token in the address", async () => {
    const { page } = await opened.blank();
    const link = await opened.link("/services");
    await page.goto(link);
    await page.getByRole("heading", { level: 1, name: "Services" }).waitFor();
    expect(page.url()).toBe(`${opened.served.credentials.baseUrl}/console/services`);
    await page.goBack();
    expect(page.url()).not.toContain("login");
  });

  test("a used link explains itself; in the browser that used it, it just opens", async () => {
    const link = await opened.link();
    const first = await opened.blank();
    await first.page.goto(link);
    await first.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await first.page.goto("about:blank");
    await first.page.goto(link);
    await first.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(first.problems.splice(0)).toEqual(["401: POST /console/session"]);

    const second = await opened.blank();
    await second.page.goto(link);
    await second.page.getByText("This link was used already").waitFor();
    await second.page.getByText("Where do I get a key or a link?").click();
    await second.page.getByText("millrace console").waitFor();
    expect(second.problems.splice(0)).toEqual(["401: POST /console/session", "401: GET /console/session"]);
    expect(await accessibilityProblemsInBothThemes(second.page)).toEqual([]);
  });

  test("the form takes a key by keyboard, and the pasted pair or file in one field", async () => {
    const { keyId, keySecret } = opened.served.credentials;
    const pair = `${keyId}:${keySecret}`;
    for (const pasted of [pair, JSON.stringify({ keyId, keySecret }), "typed", undefined]) {
      const { page, problems } = await opened.blank();
      await page.goto(`${opened.served.credentials.baseUrl}/console/pipes`);
      await page.getByLabel("Key id").waitFor();
      if (pasted === undefined) {
        await page.keyboard.type(keyId);
        await page.keyboard.press("Tab");
        await page.keyboard.type(keySecret);
      } else if (pasted === "typed") await page.keyboard.type(pair);
      else await page.getByLabel("Key id").fill(pasted);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Pipes" }).waitFor();
      expect(problems.splice(0)).toEqual(["401: GET /console/session"]);
    }
  });

  test("a wrong key gets one sentence, the same for unknown ids", async () => {
    const { page, problems } = await opened.blank();
    await page.goto(`${opened.served.credentials.baseUrl}/console/`);
    const { keyId } = opened.served.credentials;
    for (const id of [keyId, "no-such-key"]) {
      await page.getByLabel("Key id").fill(id);
      await page.getByLabel("Key secret").fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect.poll(() => page.getByRole("alert").textContent()).toContain("There is no enabled key with this");
    }
    problems.length = 0;
  });

  test("a session that ends during work keeps what was typed, and goes on after signing in", async () => {
    const { page, context, problems } = await opened.open("/services/new");
    await page.getByLabel("Name").fill("half written");
    await context.clearCookies();
    await page.getByRole("button", { name: "Create service" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    const { keyId, keySecret } = opened.served.credentials;
    await page.getByLabel("Key id").fill(`${keyId}:${keySecret}`);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.getByLabel("Name").inputValue()).toBe("half written");
    expect(problems.splice(0).every((problem) => problem.startsWith("401: "))).toBe(true);
  });

  test("the first page is three files, and asks nothing twice", async () => {
    const { page } = await opened.open();
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(new URL(request.url()).pathname.replace(/\/[0-9a-f-]{36}\//, "/")));
    await page.reload();
    await page.getByRole("heading", { level: 2, name: "1. Create a service" }).waitFor();
    const files = asked.filter((path) => /\.(js|css)$/.test(path));
    expect(files.map((path) => path.replace(/-[\w-]{8}\./, "."))).toEqual([
      "/console/start.js",
      "/console/assets/index.js",
      "/console/assets/index.css",
    ]);
    expect(await firstAsked(page)).toEqual([
      "/console/session",
      "/v1/organizations/pipes",
      "/v1/organizations/services",
    ]);
    for (const [path, list] of [
      ["/sql", "/v1/organizations/services"],
      ["/explore", "/api/v2/sources"],
    ] as const) {
      await page.goto(`${opened.served.credentials.baseUrl}/console${path}`);
      await page.getByText("No service yet").waitFor();
      expect((await firstAsked(page)).filter((asked) => asked === list)).toEqual([list]);
    }
  });

  test("signing out closes the page, and the session is gone at the server", async () => {
    const { page, context, problems } = await opened.open();
    const before = await context.cookies();
    await page.getByRole("button", { name: /^Key .* admin$/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
    await context.addCookies(before);
    await page.reload();
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
    expect(problems.splice(0)).toEqual(["401: GET /console/session"]);
  });

  test("a foreign Host is refused, also for the page itself", async () => {
    const { baseUrl } = opened.served.credentials;
    const port = new URL(baseUrl).port;
    const { page, problems } = await opened.blank();
    const response = await page.request.get(`${baseUrl}/console/`, { headers: { host: `evil.example:${port}` } });
    expect(response.status()).toBe(421);
    expect(problems).toEqual([]);
  });

  test("a page on another port can neither frame the console nor use its session", async () => {
    const { baseUrl, organizationId } = opened.served.credentials;
    const target = `${baseUrl}/v1/organizations/${organizationId}/services`;
    const html = `<iframe src="${baseUrl}/console/"></iframe>
      <form method="post" enctype="text/plain" action="${target}"><input name='{"name":"forged","x":"' value='"}'></form>`;
    const other = createServer((_request, response) => response.setHeader("content-type", "text/html").end(html));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const { page, context, problems } = await opened.open();
    expect((await context.cookies())[0]).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    await page.goto(`http://127.0.0.1:${port}/`);
    await expect.poll(() => problems.join()).toMatch(/frame-ancestors|X-Frame-Options/i);
    const statuses = await page.evaluate(async (url) => {
      const body = '{"name":"forged"}';
      const simple = fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body });
      const json = fetch(url, {
        method: "POST",
        credentials: "include",
        headers: { "content-type": "application/json", "x-millrace-console": "1" },
        body,
      });
      return [await simple.then((r) => r.type), await json.then((r) => String(r.status)).catch(() => "refused")];
    }, target);
    expect(statuses).toEqual(["opaque", "refused"]);
    const submitted = page.waitForResponse((response) => response.request().method() === "POST");
    await page.locator("form").evaluate((form: HTMLFormElement) => form.submit());
    expect((await submitted).status()).toBeGreaterThanOrEqual(400);
    const services = await opened.served.api.listServices({ params: { organizationId } });
    expect(services).toEqual([]);
    problems.length = 0;
    other.close();
  });

  test("the policy allows no script and style but those of the page, and nothing from elsewhere", async () => {
    const { page, problems } = await opened.open();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).origin));
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(new Set(asked)).toEqual(new Set([new URL(opened.served.credentials.baseUrl).origin]));
    const refused = await page.evaluate(() => {
      const results: string[] = [];
      try {
        document.body.insertAdjacentHTML("beforeend", "<img src=x>");
        results.push("markup");
      } catch {
        // Trusted Types refuse it.
      }
      const style = document.createElement("style");
      style.textContent = "body { color: rgb(1, 2, 3) }";
      document.head.append(style);
      if (getComputedStyle(document.body).color === "rgb(1, 2, 3)") results.push("style");
      return results;
    });
    expect(refused).toEqual([]);
    expect(problems.splice(0).length).toBeGreaterThan(0);
  });

  test("/ leads to the console; the page has a nonce of its own each time, and its files may be kept for good", async () => {
    const { page } = await opened.blank();
    const { baseUrl } = opened.served.credentials;
    const get = async (path: string) =>
      await page.request.get(`${baseUrl}${path}`, { headers: { "accept-encoding": "br" } });
    const first = await get("/");
    expect(first.url()).toBe(`${baseUrl}/console/`);
    expect(first.headers()).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    const nonceOf = (headers: Record<string, string>) =>
      /'nonce-([^']+)'/.exec(headers["content-security-policy"] ?? "")?.[1];
    const nonce = nonceOf(first.headers());
    expect(await first.text()).toContain(`nonce="${nonce}"`);
    expect(nonceOf((await get("/console/any/address")).headers())).not.toBe(nonce);
    const script = /\/console\/assets\/[\w.-]+\.js/.exec(await first.text())?.[0] ?? "";
    const file = await get(script);
    expect(file.headers()["cache-control"]).toContain("immutable");
    expect(file.headers()["content-encoding"]).toBe("br");
    expect((await get("/console/assets/none.js")).status()).toBe(404);
  });
});

/** Paths of what a page asks, sorted, without what it asks again: 2 s after an answer at the earliest. */
async function firstAsked(page: Page): Promise<string[]> {
  const requests = await page.evaluate(() =>
    performance.getEntriesByType("resource").map((entry) => ({
      path: new URL(entry.name).pathname.replace(/\/[0-9a-f-]{36}\//, "/"),
      start: entry.startTime,
      end: entry.startTime + entry.duration,
    })),
  );
  const first = (path: string) => requests.find((request) => request.path === path);
  const lists = requests.filter(({ path, start }) => start < (first(path)?.end ?? 0) + 1_500);
  const asked = lists.map(({ path }) => path).filter((path) => /session$|services$|pipes$|sources$/.test(path));
  return asked.toSorted();
}
