import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../lib/logger.ts";
import { LocationCheck } from "./location-check.ts";
import { BackupTarget } from "./storage/location.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-place-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function checked(root: string) {
  const dataDir = folder;
  const target = new BackupTarget({
    location: { kind: "local", root },
    s3Keys: undefined,
    serverKeys: undefined,
    encryptionKey: undefined,
    dataDir,
  });
  const check = new LocationCheck(target, createLogger("silent"));
  expect(check.state()).toBeUndefined();
  const stop = new AbortController();
  const running = check.loop.run(stop.signal);
  await check.loop.passed(10_000);
  stop.abort(new Error("done"));
  await running;
  return { ...check.state(), failures: check.loop.status().consecutiveFailures };
}

test("a place that can be written is, and nothing is left in it", async () => {
  const root = join(folder, "place");
  expect(await checked(root)).toEqual({ checkedAt: expect.any(String), problem: undefined, failures: 0 });
  expect(readdirSync(root)).toEqual([]);
});

test("a place that cannot be written has the reason, and the loop goes on", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const state = await checked(join(file, "place"));
  expect(state).toMatchObject({ problem: expect.stringContaining("ENOTDIR"), failures: 0 });
});
