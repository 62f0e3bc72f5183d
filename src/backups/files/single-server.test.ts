import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseIndex } from "../engine-backup.ts";
import { forSingleServer, withoutReplicas } from "./single-server.ts";

test.each([
  ["ReplicatedMergeTree('/t/{uuid}/{shard}', '{replica}') ORDER BY a", "MergeTree() ORDER BY a"],
  ["ReplicatedReplacingMergeTree('/t', '{replica}', version) ORDER BY a", "ReplacingMergeTree(version) ORDER BY a"],
  ["SharedMergeTree('/t', '{replica}') ORDER BY a", "MergeTree() ORDER BY a"],
  ["ReplicatedSummingMergeTree(amount) ORDER BY a", "SummingMergeTree(amount) ORDER BY a"],
  ["ReplicatedMergeTree ORDER BY a", "MergeTree ORDER BY a"],
  ["MergeTree ORDER BY a", "MergeTree ORDER BY a"],
  ["Distributed('main', 'app', 't_local', cityHash64(a))", "Distributed('main', 'app', 't_local', cityHash64(a))"],
])("a table with the engine %s becomes one with %s", (engine, plain) => {
  const create =
    "CREATE TABLE app.t (`a` UInt64 DEFAULT 1, `ENGINE = x` String COMMENT 'ENGINE = ReplicatedMergeTree') ENGINE = ";
  expect(withoutReplicas(create + engine)).toBe(create + plain);
});

test("a database without replicas is an ordinary one", () => {
  const create = "CREATE DATABASE app ENGINE = ";
  expect(withoutReplicas(`${create}Replicated('/databases/app', '{shard}', '{replica}') COMMENT 'x'`)).toBe(
    `${create}Atomic COMMENT 'x'`,
  );
  expect(withoutReplicas(`${create}Atomic`)).toBe(`${create}Atomic`);
});

test("the list of files has the sizes of the changed definitions, and every other file is as it was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-single-"));
  try {
    const statement = "CREATE TABLE app.t (`a` UInt64) ENGINE = ReplicatedMergeTree('/t', '{replica}') ORDER BY a";
    const files = { "metadata/app/t.sql": statement, "metadata/app/v.sql": "CREATE VIEW app.v AS SELECT 1" };
    mkdirSync(join(folder, "metadata/app"), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const entries = Object.entries(files).map(
      ([name, text]) => `<file><name>${name}</name><size>${text.length}</size><checksum>ab</checksum></file>`,
    );
    writeFileSync(join(folder, ".backup"), `<config><contents>${entries.join("")}</contents></config>`);
    await forSingleServer(folder);
    for (const { name, size } of parseIndex(readFileSync(join(folder, ".backup"), "utf8"))) {
      expect(readFileSync(join(folder, name))).toHaveLength(size);
    }
    expect(readFileSync(join(folder, "metadata/app/t.sql"), "utf8")).toContain("ENGINE = MergeTree() ORDER");
    expect(readFileSync(join(folder, "metadata/app/v.sql"), "utf8")).toBe(files["metadata/app/v.sql"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
