/**
 * Which packages a pipe's worker loads before its first row. Every start, edit and crash of a pipe costs a process
 * start, so nothing is loaded that this pipe may not need.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const file = (path: string) => new URL(`../${path}`, import.meta.url).href;

/** Prints the packages that importing the modules loads, and whether the runtime's second HTTP client was loaded. */
const script = `
  import { registerHooks } from "node:module";
  const packages = new Set();
  registerHooks({ load(url, context, next) {
    const found = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url);
    if (found !== null) packages.add(found[1]);
    return next(url, context);
  } });
  for (const module of process.argv.slice(1)) await import(module);
  const undici = process.moduleLoadList.includes("NativeModule internal/deps/undici/undici");
  console.log(JSON.stringify({ packages: [...packages].sort(), undici }));
  process.exit(0);
`;

async function loadedBy(kind: string): Promise<{ packages: string[]; undici: boolean }> {
  const modules = [file("processes/pipe-worker.ts"), file(`sources/${kind}/connector.ts`)];
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script, ...modules], { cwd });
  return JSON.parse(stdout) as { packages: string[]; undici: boolean };
}

test("a worker that reads JSON from Kafka loads nothing but our own code and the checksum of records", async () => {
  const { packages, undici } = await loadedBy("message-broker");
  expect(packages.filter((name) => !name.startsWith("@node-rs/crc32"))).toEqual([]);
  expect(undici).toBe(false);
});

test.each([["object-storage"], ["relational-db"]])("a worker of %s loads no schemas of requests", async (kind) => {
  const { packages, undici } = await loadedBy(kind);
  expect(packages.filter((name) => /^(zod|fastify|pino|@aws-sdk|@azure|protobufjs)/.test(name))).toEqual([]);
  expect(undici).toBe(false);
});
