import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { compileCacheFolder, compileForChildren } from "./compile-cache.ts";
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
