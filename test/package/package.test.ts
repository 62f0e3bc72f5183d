/** The published package: packed, installed into an empty folder, and used as by somebody who has only npm. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../harness/serve.ts";
import { root } from "../../scripts/house.ts";
import type { FirstCredentials } from "../../src/api/first-credentials.ts";

const run = promisify(execFile);
/** Most bytes of the tarball: the flights of the demo are 14 MB of it. */
const maxTarballBytes = 20_000_000;

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) as string);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "somebody", private: true, type: "module" }));
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball], { cwd: folder });
}, 480_000);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }), 60_000);

const millrace = (...args: string[]) => run("npx", ["--no-install", "millrace", ...args], { cwd: folder });

test("it is small, and brings no tools of development", () => {
  expect(statSync(tarball).size).toBeLessThan(maxTarballBytes);
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const installed = Object.keys(devDependencies).filter((name) => existsSync(join(folder, "node_modules", name)));
  // Types that packages need for their own types.
  expect(installed.filter((name) => !name.startsWith("@types/"))).toEqual([]);
});

test("`millrace --version` tells the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  expect((await millrace("--version")).stdout.trim()).toBe(version);
});

test("an unknown command is one sentence, and exit code 2", async () => {
  type Failure = { code: number; stdout: string; stderr: string };
  const wrong = (await millrace("frobnicate").catch((error: Failure) => error)) as Failure;
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  // npx warns of settings of the machine.
  const own = wrong.stderr.split("\n").filter((line) => !line.startsWith("npm "));
  expect(own.join("\n")).toBe("millrace: unknown command 'frobnicate'\nhint: millrace --help lists the commands.\n");
});

test("the demo runs to its end", async () => {
  const { stdout } = await millrace("demo", "--once");
  expect(stdout).toMatch(/Completed +3,000,000 rows/);
  expect(stdout).toContain("Everything has been stopped and removed.");
}, 180_000);

test("the server starts, the typed client creates a service, and the engine answers under confinement", async () => {
  const dataDir = join(folder, "data");
  const server = spawn(join(folder, "node_modules/.bin/millrace"), ["serve", "--data-dir", dataDir, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: folder,
  });
  try {
    let said = "";
    server.stdout.on("data", (chunk) => {
      said += String(chunk);
    });
    await until("the server is ready", async () => said.includes("is ready"));
    const credentials = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as FirstCredentials;
    const program = `
      import { createApiClient } from "millrace/client";
      const { organizationId, ...credentials } = ${JSON.stringify(credentials)};
      const api = createApiClient(credentials);
      const { service, password } = await api.createService({ params: { organizationId }, body: { name: "first" } });
      const [{ port }] = service.endpoints;
      const headers = { "X-ClickHouse-User": "default", "X-ClickHouse-Key": password };
      const answer = await fetch(\`http://127.0.0.1:\${port}/?wait_end_of_query=1\`, { method: "POST", headers, body: "SELECT 6 * 7" });
      console.log((await answer.text()).trim());
    `;
    writeFileSync(join(folder, "client.js"), program);
    const node = join(folder, "node_modules/.bin/node");
    await until("the service answers", async () => {
      const { stdout } = await run(existsSync(node) ? node : process.execPath, ["client.js"], { cwd: folder });
      return stdout.trim() === "42";
    });
  } finally {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
  }
}, 120_000);
