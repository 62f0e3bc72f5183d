/**
 * Every type of Postgres, with nasty values: the bytes of a COPY and of a replication slot are the same per row, the
 * engine takes them, and what it has stored is what the source says.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../../harness/engine/stage.ts";
import { copyBytes, slotMessages } from "../../../../harness/postgres/bytes.ts";
import { loadCopy, loadRows } from "../../../../harness/postgres/load.ts";
import { allPostgresVersions, postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import type { TypeCase } from "../../../../harness/postgres/scalars.ts";
import {
  elementCases,
  keyCases,
  newerCases,
  noColumnTypes,
  preparation,
  typeCases,
} from "../../../../harness/postgres/values.ts";
import type { SourceTable } from "../declaration/durable.ts";
import { decode, type Relation, type ReplicationMessage } from "../protocol/pgoutput.ts";
import { readTables, replicatedColumns } from "../server/catalog.ts";
import { copySelect, quoteName, sessionSql } from "../server/session.ts";
import { columnIndexes, TsvRowWriter } from "../stream/tsv-rows.ts";
import { planTable } from "./tables.ts";
import { columnPlan, type PlanOptions } from "./types.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

/** A server that prints by default what no conversion here understands: the session must set all of it. */
const unusual = {
  datestyle: "German, DMY",
  intervalstyle: "sql_standard",
  timezone: "Asia/Kathmandu",
  bytea_output: "escape",
  extra_float_digits: "-5",
  xmlbinary: "hex",
};

type Loaded = {
  readonly at: TypeCase;
  readonly table: SourceTable;
  readonly copied: Buffer;
  readonly streamed: Buffer;
};

/** The engine converts the same text whichever server printed it: only the first server's rows are loaded. */
const first = allPostgresVersions.find((version) => postgresMissing(version) === undefined);
const firstBytes = new Map<string, Buffer>();

for (const version of allPostgresVersions) {
  const missing = postgresMissing(version);
  if (missing !== undefined) console.warn(`types of Postgres ${version}: skipped, ${missing}`);
  describe.skipIf(missing !== undefined)(`Postgres ${version}`, () => {
    const elements = version === first ? elementCases : [];
    const cases = [
      ...typeCases,
      ...keyCases.map((each) => ({ ...each, name: `${each.name} as key`, key: true, isKey: true })),
      ...newerCases.filter(({ since }) => since <= version),
      ...elements,
    ];
    let server: TestPostgres;
    let client: pg.Client;
    const loaded = new Map<string, Loaded>();

    beforeAll(async () => {
      server = await TestPostgres.start({ version, settings: unusual });
      client = await server.client();
      await client.query(`${preparation} CREATE TABLE kept (id int)`);
      for (const [index, each] of cases.entries()) {
        const values = "isKey" in each ? each.values : [...each.values, "NULL"];
        await client.query(`CREATE TABLE t${index} (id serial PRIMARY KEY, v ${each.type}, after int DEFAULT 7)`);
        await client.query(`ALTER TABLE t${index} REPLICA IDENTITY FULL`);
        if (index === 0) {
          await client.query("CREATE PUBLICATION p FOR ALL TABLES");
          await client.query("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
        }
        for (const value of values) {
          await client.query(`INSERT INTO t${index} (v) VALUES (${value})`).catch((cause: Error) => {
            throw new Error(`${each.name} ${value}: ${cause.message}`);
          });
        }
      }
      await client.query(sessionSql);
      const names = cases.map((_, index) => ({ schema: "public", name: `t${index}` }));
      const tables = await readTables(client, names);
      const streamed = encodeStream(
        await slotMessages(server, "s", { proto_version: "1", publication_names: "p" }),
        tables,
      );
      for (const [index, each] of cases.entries()) {
        const table = tables[index] as SourceTable;
        const columns = replicatedColumns(table).map(({ name }) => name);
        const copied = Buffer.concat(await copyBytes(client, copySelect(table, columns.map(quoteName))));
        if (version === first) firstBytes.set(each.name, copied);
        loaded.set(each.name, { at: each, table, copied, streamed: streamed.get(table.name) as Buffer });
      }
    });
    afterAll(async () => {
      await client?.end();
      await server?.[Symbol.asyncDispose]();
    });

    test.each(cases.map(({ name }) => name))("%s: COPY and slot give the same bytes", (name) => {
      const { copied, streamed } = loaded.get(name) as Loaded;
      expect(streamed.toString("latin1")).toBe(copied.toString("latin1"));
    });

    test.runIf(version !== first)("the server prints what the first one prints", () => {
      for (const [name, { copied }] of loaded) {
        expect(copied.toString("latin1"), name).toBe(firstBytes.get(name)?.toString("latin1"));
      }
    });

    const namesOf = (list: readonly TypeCase[]) => (version === first ? list.map(({ name }) => name) : []);
    test.each(namesOf(typeCases))("%s: the engine has the source's values", async (name) => {
      for (const nullable of [true, false]) {
        const each = loaded.get(name) as Loaded;
        const stored = await load(each, { nullable, key: false });
        const wanted = await sourceValues(client, each, nullable);
        expect(stored.values.slice(0, -1)).toEqual(
          wanted.slice(0, -1).map((row) => orZero(row, stored, each, nullable)),
        );
        expect(stored.type).toBe(nullable ? nullableType(each.at.stored) : each.at.stored);
        expect(await copied(client, each, nullable)).toEqual(stored);
        const isArray = each.at.stored.startsWith("Array");
        expect(stored.values.at(-1)).toEqual([String(stored.values.length), nullable && !isArray ? null : stored.zero]);
      }
    });

    test.each(namesOf(keyCases).map((name) => `${name} as key`))("%s: no two rows become one", async (name) => {
      const each = loaded.get(name) as Loaded;
      const stored = await load(each, { nullable: true, key: true });
      expect(stored.type).toBe(each.at.stored);
      expect(stored.values).toEqual(await sourceValues(client, each));
      expect(await stage.ok(`SELECT count() FROM loaded FINAL`)).toBe(String(each.at.values.length));
      expect(await copied(client, each, true, ["v"])).toEqual(stored);
    });

    const nullableOnly = [...newerCases.filter(({ since }) => since <= version), ...elements];
    test.each(namesOf(nullableOnly))("%s: the engine has the source's values", async (name) => {
      const each = loaded.get(name) as Loaded;
      const stored = await load(each, { nullable: true, key: false });
      expect(stored.type).toBe(nullableType(each.at.stored));
      expect(stored.values.slice(0, -1)).toEqual((await sourceValues(client, each)).slice(0, -1));
      expect(await copied(client, each, true)).toEqual(stored);
    });

    test("no type of the server is left out", async () => {
      const { rows } = await client.query<{ name: string; oid: number }>(`
        SELECT t.typname AS name, t.oid::int8::float8 AS oid FROM pg_type t
        WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm', 'e', 'd')
          AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)`);
      const tested = new Set([...loaded.values()].map(({ table }) => table.columns[1]?.typeOid));
      const untested = rows.filter(({ oid }) => !tested.has(oid)).map(({ name }) => name);
      expect(untested.filter((name) => !noColumnTypes.includes(name))).toEqual([]);
      expect(rows.length).toBeGreaterThan(70);
      expect(loaded.size).toBe(cases.length);
    });
  });
}

function nullableType(type: string): string {
  const [, outer, inner] = /^(LowCardinality|Array)\((.*)\)$/.exec(type) ?? [];
  return outer === undefined ? `Nullable(${type})` : `${outer}(${nullableType(inner as string)})`;
}

/** Encodes the inserts of every table as a pipe would. */
function encodeStream(messages: readonly Buffer[], tables: readonly SourceTable[]): Map<string, Buffer> {
  const relations = new Map<number, { relation: Relation; writer: TsvRowWriter }>();
  for (const message of messages) {
    const decoded: ReplicationMessage = decode(message);
    if (decoded.kind === "relation") {
      const table = tables.find(({ oid }) => oid === decoded.oid) as SourceTable;
      const wanted = replicatedColumns(table).map(({ name }) => name);
      const writer = new TsvRowWriter(columnIndexes(decoded.columns, wanted), decoded.columns.length);
      if (!relations.has(decoded.oid)) relations.set(decoded.oid, { relation: decoded, writer });
    }
    if (decoded.kind === "insert") expect(relations.get(decoded.relation)?.writer.append(decoded.row, "")).toBe(true);
  }
  return new Map([...relations.values()].map(({ relation, writer }) => [relation.name, writer.take()]));
}

type Stored = { readonly type: string; readonly values: (string | null)[][]; readonly zero: string };

async function load({ table, copied, at }: Loaded, options: PlanOptions): Promise<Stored> {
  const columns = replicatedColumns(table).map((column) =>
    columnPlan(column, { ...options, key: column.name === "id" || (options.key && column.name === "v") }),
  );
  const plan = columns[1] as (typeof columns)[number];
  const sorting = options.key ? "v" : "id";
  await loadRows(stage, "loaded", columns, copied, `ReplacingMergeTree ORDER BY ${sorting}`);
  return await storedValues(at, plan.type, "loaded");
}

/** What the copy of a pipe makes of the same rows. */
async function copied(client: pg.Client, { table, at }: Loaded, nullable: boolean, sortingKeys?: string[]) {
  const mapping = { sourceSchemaName: "public", sourceTable: table.name, targetTable: "copied" };
  const custom = sortingKeys === undefined ? {} : { useCustomSortingKey: true, sortingKeys };
  const plan = planTable(table, { ...mapping, ...custom }, "default", { nullable, hardDelete: false });
  await loadCopy(stage, client, plan, "copied");
  const types = await stage.ok(`SELECT type FROM system.columns WHERE table = 'copied' AND name = 'v'`);
  // What a pipe looks at before it lets rows go straight into a table.
  expect(types.replaceAll("\\'", "'")).toBe(plan.columns[1]?.type);
  expect(await stage.ok("SELECT DISTINCT _version, _deleted FROM copied")).toBe("0\t0");
  return await storedValues(at, plan.columns[1]?.type as string, "copied");
}

async function storedValues(at: TypeCase, type: string, from: string): Promise<Stored> {
  const value = (of: string) => `lower(hex(toString(${of})))`;
  const engine = at.engine ?? "v";
  const printed = { output_format_json_escape_forward_slashes: "0", output_format_json_quote_64bit_integers: "0" };
  const rows = await stage.ok(
    `SELECT toString(id), ${value(engine)} FROM ${from} ORDER BY id FORMAT JSONCompactEachRow`,
    printed,
  );
  const zero = await stage.ok(
    `SELECT ${value(engine)} FROM (SELECT v FROM null('v ${type.replaceAll("'", "\\'").replace(/^Nullable\((.*)\)$/, "$1")}')
     UNION ALL SELECT defaultValueOfTypeName('${type.replaceAll("'", "\\'").replace(/^Nullable\((.*)\)$/, "$1")}') AS v)`,
    printed,
  );
  return {
    type,
    values: rows.split("\n").map((row) => JSON.parse(row) as (string | null)[]),
    zero,
  };
}

async function sourceValues(client: pg.Client, { at, table }: Loaded, nullable = true): Promise<(string | null)[][]> {
  const printed = at.source ?? "format('%s', v)";
  const source = nullable ? printed : printed.replace("'null'", () => `'${at.zeroElement}'`);
  const { rows } = await client.query<{ id: string; v: string | null }>(
    `SELECT id::text, CASE WHEN v IS DISTINCT FROM NULL THEN encode(convert_to((${source})::text, 'UTF8'), 'hex') END AS v
     FROM public.${table.name} AS outside ORDER BY outside.id`,
  );
  return rows.map(({ id, v }) => [id, v]);
}

/** Without Nullable a value that the type cannot hold is the zero value, as NULL is. */
function orZero([id, value]: (string | null)[], { zero }: Stored, _: Loaded, nullable: boolean): (string | null)[] {
  return [id as string, value === null && !nullable ? zero : (value as string | null)];
}
