/** The list of privileges against the installed engine: a role that the engine cannot read would stop every start. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../../harness/engine/bare-engine.ts";
import type { Grant } from "../../../clickhouse/access-change.ts";
import { objectPrivileges, privilegeLevels } from "./privileges.ts";

const database = { name: "a `b\\c" };
const table = { name: "t" };
const targets: Readonly<Record<string, Omit<Grant, "privilege">>> = {
  global: {},
  database: { database },
  "database prefix": { database: { ...database, prefix: true } },
  table: { database, table },
  "table prefix": { database, table: { ...table, prefix: true } },
  column: { database, table, columns: ["c", "d"] },
};
const levels: Readonly<Record<string, number>> = { global: 1, database: 3, table: 5, column: 6 };

/** Every privilege on every object that it can be granted on, and its revocation. */
const grants = [...privilegeLevels].flatMap(([privilege, level]) =>
  Object.values(targets)
    .slice(0, levels[level])
    .flatMap((target) => [
      { privilege, ...target },
      { privilege, ...target, revoked: true },
    ]),
);
const onObjects = [...objectPrivileges].flatMap(([privilege, objects]) =>
  [...objects].map((object) => ({ privilege, object })),
);

let engine: BareEngine;
beforeAll(async () => {
  engine = await BareEngine.start([
    { name: "each", rights: { grants: [...grants, ...onObjects], roles: [] } },
    { name: "lasting", rights: { grants: grants.filter(({ revoked }) => revoked !== true), roles: ["each"] } },
  ]);
});
afterAll(() => engine?.[Symbol.asyncDispose]());

test("the engine reads every privilege on every object, and its revocation", async () => {
  const sql =
    "SELECT role_name AS role, count() AS n FROM system.grants WHERE role_name != '' GROUP BY role ORDER BY role";
  const found = await engine.client.rows<{ role: string; n: number }>(sql);
  expect(found.map(({ role }) => role)).toEqual(["each", "lasting"]);
});

test("no privilege is one that users of the management API lack", async () => {
  const rights = async (where: string) => {
    const sql = `SELECT DISTINCT toString(access_type) AS name FROM system.grants WHERE ${where} AND is_partial_revoke = 0`;
    return (await engine.client.rows<{ name: string }>(sql)).map(({ name }) => name);
  };
  const full = new Set(await rights("user_name = 'millrace-writer'"));
  expect((await rights("role_name = 'lasting'")).filter((name) => !full.has(name))).toEqual([]);
});
