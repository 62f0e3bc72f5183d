import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { compileCacheFolder } from "./compile-cache.ts";
import { compileForChildren } from "./compile-for-children.ts";
import { processFile } from "./program.ts";

test("what children run is compiled once for each state of our files, and they find it", async () => {
  const first = await compileForChildren();
  if (first !== undefined) expect(await once(first, "exit")).toEqual([0, null]);
  expect(await compileForChildren()).toBeUndefined();
  const child = spawn(process.execPath, [processFile("pipe-worker")], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { NODE_COMPILE_CACHE: compileCacheFolder(), NODE_DEBUG_NATIVE: "COMPILE_CACHE" },
  });
  // Its first report of its load: all of its modules are there.
  child.once("message", () => child.disconnect());
  const looked = (await text(child.stderr as NonNullable<typeof child.stderr>))
    .split("\n")
    .filter((line) => line.includes("reading cache from"));
  expect(looked.length).toBeGreaterThan(50);
  expect(looked.filter((line) => !line.includes("success"))).toEqual([]);
});

test("a server goes on where it cannot note that it has compiled", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-compiled-"));
  const module = new URL("./compile-for-children.ts", import.meta.url).href;
  const compile = async () => {
    const program = `const { compileForChildren } = await import("${module}");
      const child = await compileForChildren();
      child.once("exit", () => setImmediate(() => process.exit(7)));
      child.ref();`;
    const server = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: "ignore",
      env: { NODE_COMPILE_CACHE: folder },
    });
    return (await once(server, "exit"))[0];
  };
  expect(await compile()).toBe(7);
  const [ofThisNode = ""] = readdirSync(folder);
  const mark = readdirSync(join(folder, ofThisNode)).find((name) => name.startsWith("children-")) as string;
  rmSync(join(folder, ofThisNode, mark));
  mkdirSync(join(folder, ofThisNode, mark));
  expect(await compile()).toBe(7);
  rmSync(folder, { recursive: true, force: true });
});
