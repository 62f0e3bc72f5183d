/** The README's command as scripts use it: in the background, ended by a signal to npm. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { until } from "../../harness/serve.ts";
import type { FirstCredentials } from "../../src/api/first-credentials.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("a signal to `npm start` ends the server too", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-start-"));
  const npm = spawn("npm", ["start", "--", "serve", "--data-dir", dataDir, "--port", "0"], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    let said = "";
    npm.stdout.on("data", (chunk) => {
      said += String(chunk);
    });
    await until("the server is ready", async () => said.includes("is ready"));
    const { baseUrl } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as FirstCredentials;
    const answers = async () =>
      await fetch(`${baseUrl}/health`).then(
        ({ status }) => status === 200,
        () => false,
      );
    expect(await answers()).toBe(true);
    const ended = once(npm, "exit");
    npm.kill("SIGTERM");
    await ended;
    await until("nobody answers", async () => !(await answers()), 10_000);
  } finally {
    npm.kill("SIGKILL");
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
});
