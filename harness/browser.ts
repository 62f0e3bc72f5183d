/**
 * The console in a real browser against a real server: one server and one Chromium for a test file, a fresh context per
 * page. Everything that a user would not see but that is wrong is collected: see `Watched`.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { chromiumProgram } from "./chromium.ts";
import { requireTool } from "./missing.ts";
import { type Served, serve } from "./serve.ts";

/** Why there is no browser here; undefined where there is one. */
export const chromiumMissing =
  chromiumProgram === undefined ? "Chromium is not installed (apt-get install chromium-headless-shell)." : undefined;

/** A page, and what went wrong on it. */
export type Watched = {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Errors of the console, exceptions, reports of the content security policy, failed requests and responses from 400
   * on, in their order. A test that expects one removes it: `problems.length = 0`.
   */
  readonly problems: string[];
};

export type ConsoleBrowser = AsyncDisposable & {
  readonly served: Served;
  readonly browser: Browser;
  /** A page in a context of its own, signed in as the admin or as another key, at an address below `/console`. */
  open(path?: string, options?: OpenOptions): Promise<Watched>;
  /** A page in a context of its own that is not signed in. */
  blank(options?: BrowserContextOptions): Promise<Watched>;
  /** A link that signs in once, at an address below `/console`. */
  link(path?: string, key?: Key): Promise<string>;
  /** Closes every page: an open one asks the server again and again, and draws what it gets. */
  closePages(): Promise<void>;
  /** Problems of all pages so far. */
  problems(): readonly string[];
};

type Key = { readonly keyId: string; readonly keySecret: string };
export type OpenOptions = BrowserContextOptions & { readonly key?: Key };

/** Starts the server and the browser. Throws MissingTool where there is no browser. */
export async function openConsole(options: { readonly served?: Served } = {}): Promise<ConsoleBrowser> {
  requireTool(chromiumMissing);
  const own = options.served === undefined;
  const served = options.served ?? (await serve());
  const browser = await chromium.launch({
    executablePath: chromiumProgram as string,
    // Without the last one the processor draws as if it were a graphics card, for a tenth more of its time.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  const all: string[][] = [];
  const { baseUrl, organizationId, keyId, keySecret } = served.credentials;

  async function blank(contextOptions: BrowserContextOptions = {}): Promise<Watched> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions });
    // A busy machine draws slowly; what never comes is told by the test's own limit.
    context.setDefaultTimeout(45_000);
    const page = await context.newPage();
    const problems: string[] = [];
    all.push(problems);
    watch(page, problems);
    return { page, context, problems };
  }

  async function link(path = "/", key: Key = { keyId, keySecret }): Promise<string> {
    const authorization = `Basic ${Buffer.from(`${key.keyId}:${key.keySecret}`).toString("base64")}`;
    const url = `${baseUrl}/v1/organizations/${organizationId}/consoleLinks`;
    const response = await fetch(url, { method: "POST", headers: { authorization } });
    if (response.status !== 200) throw new Error(`no link: ${response.status} ${await response.text()}`);
    const { result } = (await response.json()) as { result: { url: string } };
    return result.url.replace("/console/#", `/console${path}#`);
  }

  return {
    served,
    browser,
    blank,
    link,
    open: async (path, { key, ...contextOptions } = {}) => {
      const watched = await blank(contextOptions);
      await watched.page.goto(await link(path, key));
      await watched.page.getByRole("navigation", { name: "Main" }).waitFor({ state: "attached" });
      return watched;
    },
    closePages: async () => void (await Promise.all(browser.contexts().map((context) => context.close()))),
    problems: () => all.flat(),
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      if (own) await served[Symbol.asyncDispose]();
    },
  };
}

function watch(page: Page, problems: string[]): void {
  page.on("console", (message) => {
    // The browser's own line for a response from 400 on; the response is a problem of its own.
    if (message.text().startsWith("Failed to load resource")) return;
    if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // The page itself gives up requests whose answer nobody waits for.
    if (reason !== "net::ERR_ABORTED") problems.push(`failed: ${request.method()} ${pathOf(request.url())} ${reason}`);
  });
  page.on("response", (response) => {
    if (response.status() < 400) return;
    const problem = `${response.status()}: ${response.request().method()} ${pathOf(response.url())}`;
    const at = problems.push(problem) - 1;
    if (response.status() < 500) return;
    // The server's sentence says why.
    const add = (text: string) => {
      if (problems[at] === problem) problems[at] = `${problem} ${text}`;
    };
    response.text().then(add, () => {});
  });
}

function pathOf(url: string): string {
  return new URL(url).pathname;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules that look at colours. */
const ofColours = ["color-contrast", "link-in-text-block"];

/** Violations of accessibility rules of any severity, or of these, each as a line with the elements. */
async function accessibilityProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  // By evaluation: the policy of the page forbids a script element.
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(axeSource);
  return await page.evaluate(async (values) => {
    type Violation = { id: string; nodes: { target: string[]; failureSummary: string }[] };
    type Options = { runOnly?: object; resultTypes: string[] };
    const axe = (globalThis as unknown as { axe: { run(options: Options): Promise<{ violations: Violation[] }> } }).axe;
    const { violations } = await axe.run({
      ...(values === undefined ? {} : { runOnly: { type: "rule", values } }),
      resultTypes: ["violations"],
    });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary}`),
    );
  }, rules);
}

/** The same in both themes, which differ in their colours alone. */
export async function accessibilityProblemsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const problems = await accessibilityProblems(page, colorScheme === "dark" ? ofColours : undefined);
    found.push(...problems.map((line) => `${colorScheme}: ${line}`));
  }
  await page.emulateMedia({ colorScheme: null });
  return found;
}
