import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { numbersIn, readIndex, relocateBase, tableRows } from "./engine-backup.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-index-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const file = (name: string, size: number, checksum: string, more = "") =>
  `<file><name>${name}</name><size>${size}</size><checksum>${checksum}</checksum>${more}</file>`;

/** A backup of two parts of one table: one count is stored here, one is in the base. */
function write(): void {
  const part = join(dir, "data/d%2Ex/t/all_1_1_0");
  mkdirSync(part, { recursive: true });
  writeFileSync(join(part, "count.txt"), "1000");
  writeFileSync(join(part, "data.bin"), "0123456789");
  const entries = [
    file("data/d%2Ex/t/all_1_1_0/count.txt", 4, "c1"),
    file("data/d%2Ex/t/all_1_1_0/data.bin", 25, "c2", "<use_base>true</use_base><base_size>15</base_size>"),
    file("data/d%2Ex/t/all_2_2_0/count.txt", 2, "c3", "<use_base>true</use_base>"),
    file("data/d%2Ex/t/all_3_3_0/count.txt", 4, "c1", "<data_file>data/d%2Ex/t/all_1_1_0/count.txt</data_file>"),
    file("data/d%2Ex/t/all_1_1_0/p.proj/count.txt", 4, "c1", "<data_file>data/d%2Ex/t/all_1_1_0/count.txt</data_file>"),
    file("metadata/d%2Ex/view.sql", 0, "0"),
  ].join("");
  const base = "<base_backup>File('/old/&amp;place')</base_backup>";
  writeFileSync(join(dir, ".backup"), `<config>${base}<contents>${entries}</contents></config>`);
}

describe("the engine's list of files", () => {
  test("gives rows per table, over parts here and in the base, without projections", async () => {
    write();
    const entries = await readIndex(dir);
    const numbers = await numbersIn(dir, entries);
    expect(numbers).toEqual({ c1: 1000 });
    expect(tableRows(entries, { ...numbers, c3: 42 })).toEqual([
      { database: "d.x", table: "t", rows: 2042 },
      { database: "d.x", table: "view", rows: 0 },
    ]);
    // A count that is found nowhere is not guessed.
    expect(tableRows(entries, numbers)[0]?.rows).toBeNull();
  });

  test.each([
    [
      "a file that was cut off",
      () => truncateSync(join(dir, "data/d%2Ex/t/all_1_1_0/data.bin"), 3),
      /data\.bin has 3 bytes/,
    ],
    [
      "a file that is not there",
      () => rmSync(join(dir, "data/d%2Ex/t/all_1_1_0/count.txt")),
      /count\.txt has no bytes/,
    ],
    ["a list that was cut off", () => truncateSync(join(dir, ".backup"), 90), /list of files has only 90/],
    ["an empty list", () => truncateSync(join(dir, ".backup"), 0), /list of files has only 0/],
  ])("with %s is refused", async (_, damage, reason) => {
    write();
    damage();
    await expect(readIndex(dir)).rejects.toThrow(reason);
  });

  test("gets another base without a change to the stored backup it is a link to", async () => {
    write();
    const staged = join(dir, "staged");
    mkdirSync(staged);
    linkSync(join(dir, ".backup"), join(staged, ".backup"));
    const before = readFileSync(join(dir, ".backup"), "utf8");
    await relocateBase(staged, "/new/$& 'place'");
    expect(readFileSync(join(dir, ".backup"), "utf8")).toBe(before);
    expect(readFileSync(join(staged, ".backup"), "utf8")).toContain(
      "<base_backup>File('/new/$&amp; \\'place\\'')</base_backup>",
    );
  });
});
