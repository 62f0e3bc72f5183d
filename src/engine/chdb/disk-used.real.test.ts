/** Whatever a user does with a table, its bytes count until they are deleted. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { bytesBesideParts, bytesOfParts } from "./disk-used.ts";

const megabytes = 10;
let engine: BareEngine;

beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(() => engine?.[Symbol.asyncDispose]());

const used = async () => {
  const parts = await bytesOfParts(engine.client);
  return (parts + (await bytesBesideParts(engine.client, join(engine.dir, "data")))) / 1_000_000;
};

test.each(["default", "d"])("tables of database %s", async (database) => {
  await engine.client.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
  const table = `${database}.t`;
  const run = (sql: string) => engine.client.command(sql);
  const before = await used();
  const grown = async () => Math.round((await used()) - before);
  await run(`CREATE TABLE ${table} (s String CODEC(NONE)) ENGINE = MergeTree ORDER BY tuple()`);
  await run(`INSERT INTO ${table} SELECT repeat('x', 1000000) FROM numbers(${megabytes})`);
  expect(await grown()).toBe(megabytes);
  await run(`ALTER TABLE ${table} DETACH PARTITION tuple()`);
  expect(await grown()).toBe(megabytes);
  await run(`ALTER TABLE ${table} ATTACH PARTITION tuple()`);
  await run(`DETACH TABLE ${table}`);
  expect(await grown()).toBe(megabytes);
  await run(`ATTACH TABLE ${table}`);
  expect(await grown()).toBe(megabytes);
  await run(`DROP TABLE ${table}`);
  expect(await grown()).toBe(megabytes);
  await run(`CREATE TABLE ${table} (s String CODEC(NONE)) ENGINE = Log`);
  await run(`INSERT INTO ${table} SELECT repeat('x', 1000000) FROM numbers(${megabytes})`);
  expect(await grown()).toBe(2 * megabytes);
  await run(`TRUNCATE TABLE ${table}`);
  expect(await grown()).toBe(megabytes);
});

test("the engine's own tables do not count", async () => {
  const before = await used();
  for (let i = 0; i < 20; i += 1) await engine.client.text(`SELECT '${"x".repeat(50_000)}${i}'`);
  await engine.client.command("SYSTEM FLUSH LOGS");
  expect((await used()) - before).toBeLessThan(0.01);
});
