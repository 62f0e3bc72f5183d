/**
 * Pictures of every screen of the console, in both themes, wide and narrow: starts the demo, signs in by its link and
 * writes PNG files. `npm run screenshots -- FOLDER [PATH ...]`; the folder lies outside of the repository.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { root } from "./house.ts";

const [folder = join(tmpdir(), "millrace-screenshots"), ...onlyPaths] = process.argv.slice(2);
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const sizes = { wide: { width: 1280, height: 860 }, narrow: { width: 360, height: 740 } };
/** Answers arrive and charts are drawn within this time on a busy machine. */
const settleMs = 1_500;

mkdirSync(folder, { recursive: true });
const demo = spawn(process.execPath, [join(root, "src", "main.ts"), "demo"], { stdio: ["ignore", "pipe", "inherit"] });
try {
  const link = await linkOf(demo);
  const browser = await chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  await takeAll(browser, link);
  await browser.close();
} finally {
  const ended = once(demo, "exit");
  if (demo.exitCode === null && demo.kill("SIGINT")) await ended;
}

/** Resolves when the demo has printed its link; what it prints later is read, too, so that it can go on. */
async function linkOf(child: ChildProcess): Promise<string> {
  let text = "";
  return await new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("the demo ended without a link")));
    child.stdout?.on("data", (chunk) => {
      text = (text + String(chunk)).slice(-10_000);
      const link = /\S+\/console\/#login=\S+(?=\s)/.exec(text)?.[0];
      if (link !== undefined) resolve(link);
    });
  });
}

async function takeAll(browser: Browser, link: string): Promise<void> {
  const first = await browser.newPage();
  await first.goto(link);
  await first.getByRole("navigation", { name: "Main" }).waitFor();
  const base = new URL("/console", link).href;
  const paths = onlyPaths.length > 0 ? onlyPaths : await pathsOf(first, new URL(link).origin);
  const storageState = await first.context().storageState();
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(sizes)) {
      const options: BrowserContextOptions = { storageState, colorScheme, viewport };
      const page = await (await browser.newContext(options)).newPage();
      for (const path of paths) await take(page, `${base}${path}`, `${nameOf(path)}-${colorScheme}-${size}.png`);
      await page.context().close();
    }
  }
}

async function take(page: Page, url: string, file: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, file) });
  console.log(join(folder, file));
}

/** Every address that needs no input. */
async function pathsOf(page: Page, origin: string): Promise<string[]> {
  const get = async (path: string) => {
    const response = await page.request.get(`${origin}${path}`, { headers: { "x-millrace-console": "1" } });
    return ((await response.json()) as { result: never }).result;
  };
  const me: { organization: { id: string } } = await get("/v1/me");
  const organization = `/v1/organizations/${me.organization.id}`;
  const services: { id: string }[] = await get(`${organization}/services`);
  const { pipes }: { pipes: { id: string; serviceId: string }[] } = await get(`${organization}/pipes`);
  const fixed = ["/", "/services", "/services/new", "/pipes", "/new-pipe", "/sql", "/explore", "/dashboards"];
  const others = [
    "/backups",
    "/activity",
    "/activity/logins",
    "/access",
    "/access/tokens",
    "/access/sessions",
    "/system",
  ];
  const ofServices = services
    .slice(0, 1)
    .flatMap(({ id }) => ["", "/access", "/settings"].map((tab) => `/services/${id}${tab}`));
  const ofPipes = pipes
    .slice(-1)
    .flatMap(({ id, serviceId }) =>
      ["", "/errors", "/activity", "/configuration"].map((tab) => `/pipes/${serviceId}/${id}${tab}`),
    );
  const dashboards: { id: string }[] = await get(`${organization}/savedObjects?kind=dashboard`);
  const ofDashboards = dashboards.slice(0, 1).map(({ id }) => `/dashboards/${id}`);
  return [...fixed, ...others, ...ofServices, ...ofPipes, ...ofDashboards, "/no-such-page"];
}

/** `/services/<id>/access` as `services-id-access`. */
function nameOf(path: string): string {
  const words = path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id").split("/");
  return words.filter((word) => word !== "").join("-") || "overview";
}
