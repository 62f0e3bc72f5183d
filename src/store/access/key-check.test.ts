import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStoresOf } from "../open.ts";

let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "millrace-key-check-"));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

test("a server on SQLite is told once when its key is another one than at the last start", async () => {
  const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
  const told: string[] = [];
  for (const [name, secretKey] of Object.entries({ first, again: first, second, secondAgain: second, back: first })) {
    const stores = await openStoresOf({ dataDir, secretKey, onOtherKey: () => void told.push(name) });
    await stores.close();
  }
  expect(told).toEqual(["second", "back"]);
});
