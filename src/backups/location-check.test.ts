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

const targetAt = (root: string) =>
  new BackupTarget({
    location: { kind: "local", root },
    s3Keys: undefined,
    serverKeys: undefined,
    encryptionKey: undefined,
    dataDir: folder,
  });

async function checked(root: string) {
  const check = new LocationCheck(targetAt(root), createLogger("silent"));
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
  const problem = `The folder ${join(file, "place")} cannot be written: a part of this path is a file.`;
  expect(state).toMatchObject({ problem, failures: 0 });
});

test("a folder for a backup that cannot be made is told in a sentence, which the record of the backup has", () => {
  const file = join(folder, "used");
  writeFileSync(file, "");
  expect(() => targetAt(file).stagingOf("s")).toThrow(
    `The folder ${join(file, ".staging", "s")} cannot be made: a part of this path is a file.`,
  );
});
