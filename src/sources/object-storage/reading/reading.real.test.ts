/** The statements of a batch, with the engine and a store. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BareEngine } from "../../../../harness/engine/bare-engine.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { accessKey, startFauxqs, type TestStore } from "../../../../harness/objects/pipe-stores.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { locationOf } from "../stores/location.ts";
import { S3Store } from "../stores/s3.ts";
import { ObjectBridge } from "./object-bridge.ts";
import { changedMarker, ObjectStatements } from "./reading.ts";

const { signal } = new AbortController();
const columns = [{ name: "id", type: "Int64", sourceField: "id" }];
let engine: BareEngine;
let remote: TestStore;
let store: S3Store;
let statements: ObjectStatements;

beforeAll(async () => {
  [engine, remote] = await Promise.all([BareEngine.start(), startFauxqs()]);
  const config = { url: remote.url("in/*.json"), accessKey } as ObjectStorageConfig;
  store = new S3Store(locationOf(config) as ConstructorParameters<typeof S3Store>[0], config, anyNetwork);
  const target = { database: "default", table: "t", columns };
  statements = new ObjectStatements(store, new ObjectBridge(store, anyNetwork), config, target);
});
afterAll(async () => {
  store.close();
  await engine[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await engine.client.text("CREATE OR REPLACE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id");
});

describe.each([
  ["one object", 1, undefined, "in/"],
  ["one object whose key is a pattern of others", 1, undefined, "odd/*{?"],
  ["objects that are asked for", 3, undefined, "in/"],
  ["objects that are listed", 3, "in/", "in/"],
])("%s", (_name, count, folder, prefix) => {
  beforeEach(async () => {
    for (const name of ["a", "b", "c"]) await remote.put(`${prefix}${name}.json`, `{"id": ${name.charCodeAt(0)}}`);
  });
  const load = async () => {
    const files = (await store.list(prefix, undefined, signal)).files.slice(0, count);
    const options = { oneBlock: true, lenient: false, threads: 1, ...(folder === undefined ? {} : { folder }) };
    return await statements.insert(files, "JSONEachRow", options, signal);
  };
  const run = async ({ sql, params, settings }: Awaited<ReturnType<typeof load>>) => {
    // As a profile of the target may have it.
    const own = { join_use_nulls: 1, ...settings };
    await engine.client.text(sql as string, { params: params ?? {}, settings: own });
    return (await engine.client.text("SELECT id FROM t ORDER BY id")).trim().split("\n").map(Number);
  };

  test("are loaded, and nothing else that the store has", async () => {
    const insert = await load();
    // It comes after the listing, and the pattern of a listed batch matches it.
    await remote.put("in/a.jsonl", '{"id": 1}');
    try {
      expect(await run(insert)).toEqual([97, 98, 99].slice(0, count));
    } finally {
      await remote.remove("in/a.jsonl");
    }
  });

  test("load no row when one of them has changed since it was listed", async () => {
    const insert = await load();
    await remote.put(`${prefix}a.json`, '{"id": 2}');
    await expect(run(insert)).rejects.toThrow(`DB::Exception: ${changedMarker}`);
    expect(await engine.client.text("SELECT count() FROM t")).toBe("0\n");
  });

  test("load no row when one of them is gone since it was listed", async () => {
    const insert = await load();
    await remote.remove(`${prefix}a.json`);
    await expect(run(insert)).rejects.toThrow(folder === undefined ? "404" : `DB::Exception: ${changedMarker}`);
    expect(await engine.client.text("SELECT count() FROM t")).toBe("0\n");
  });
});
