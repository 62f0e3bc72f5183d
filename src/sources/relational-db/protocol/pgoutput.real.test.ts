/** What Postgres really sends over a slot in the cases that break pipelines, and what its catalog says about them. */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copyBytes, slotMessages } from "../../../../harness/postgres/bytes.ts";
import { allPostgresVersions, postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import type { SourceTable } from "../declaration/durable.ts";
import { readTables, replicatedColumns } from "../server/catalog.ts";
import { copySelect, quoteName, sessionSql } from "../server/session.ts";
import { columnIndexes, TsvRowWriter } from "../stream/tsv-rows.ts";
import { decode, type ReplicationMessage } from "./pgoutput.ts";
import { type Tuple, unchanged } from "./tuple.ts";

for (const version of allPostgresVersions) {
  const missing = postgresMissing(version);
  if (missing !== undefined) console.warn(`decoding of Postgres ${version}: skipped, ${missing}`);
  describe.skipIf(missing !== undefined)(`Postgres ${version}`, () => {
    let server: TestPostgres;
    let client: pg.Client;
    let slots = 0;

    beforeAll(async () => {
      server = await TestPostgres.start({ version, settings: { logical_decoding_work_mem: "64kB" } });
      client = await server.client();
      await client.query(sessionSql);
    });
    afterAll(async () => {
      await client?.end();
      await server?.[Symbol.asyncDispose]();
    });

    /** Decoded messages of what `sql` does, through a publication of `tables`. */
    async function follow(
      tables: string,
      sql: readonly string[],
      options: Record<string, string> = {},
    ): Promise<ReplicationMessage[]> {
      slots += 1;
      await client.query(`CREATE PUBLICATION p${slots} FOR TABLE ${tables}`);
      await client.query(`SELECT pg_create_logical_replication_slot('s${slots}', 'pgoutput')`);
      for (const statement of sql) await client.query(statement);
      const all = { proto_version: "1", publication_names: `p${slots}`, ...options };
      const messages = await slotMessages(server, `s${slots}`, all);
      let streaming = false;
      return messages.map((message) => {
        const decoded = decode(message, streaming);
        if (decoded.kind === "streamStart") streaming = true;
        if (decoded.kind === "streamStop") streaming = false;
        return decoded;
      });
    }

    async function tableOf(name: string): Promise<SourceTable> {
      return (await readTables(client, [{ schema: "public", name }]))[0] as SourceTable;
    }

    test("unchanged TOAST values: marked under the default identity, in the old row under FULL", async () => {
      await client.query("CREATE TABLE public.toast (id int PRIMARY KEY, n int, big text)");
      await client.query("ALTER TABLE public.toast ALTER big SET STORAGE EXTERNAL");
      const big = "tab\t".repeat(5000);
      const messages = await follow("public.toast", [
        `INSERT INTO public.toast VALUES (1, 1, repeat(E'tab\\t', 5000))`,
        "UPDATE public.toast SET n = 2",
        "ALTER TABLE public.toast REPLICA IDENTITY FULL",
        "UPDATE public.toast SET n = 3",
        "UPDATE public.toast SET big = NULL",
      ]);
      const updates = messages.filter((message) => message.kind === "update");
      expect(updates.map(({ row }) => row.bytes(2) === unchanged)).toEqual([true, true, false]);
      expect(updates.map(({ old }) => old !== undefined)).toEqual([false, true, true]);
      const writer = new TsvRowWriter([0, 1, 2], 3);
      expect(updates.map(({ row, old }) => writer.append(row, "", old))).toEqual([false, true, true]);
      expect(writer.take().toString()).toBe(`1\t3\t${big.replaceAll("\t", "\\t")}\n1\t3\t\\N\n`);
    });

    test("a changed key comes with the old one; deletes carry the identity only", async () => {
      await client.query(`CREATE TABLE public.keys (b text, a int, note text, PRIMARY KEY (a, b))`);
      const messages = await follow("public.keys", [
        "INSERT INTO public.keys VALUES ('x', 1, 'n')",
        "UPDATE public.keys SET note = 'm'",
        "UPDATE public.keys SET a = 2",
        "DELETE FROM public.keys",
      ]);
      const changes = messages.flatMap((message) =>
        message.kind === "update" || message.kind === "delete" ? [[message.kind, texts(message.key)]] : [],
      );
      expect(changes).toEqual([
        ["update", undefined],
        ["update", ["x", "1", null]],
        ["delete", ["x", "2", null]],
      ]);
      expect(await tableOf("keys")).toMatchObject({ key: ["a", "b"], replicaIdentity: "d", relkind: "r" });
    });

    test("REPLICA IDENTITY USING INDEX makes that index the key", async () => {
      await client.query(`CREATE TABLE public.by_index (id int PRIMARY KEY, code text NOT NULL, n int);
        CREATE UNIQUE INDEX code_only ON public.by_index (code) INCLUDE (n);
        ALTER TABLE public.by_index REPLICA IDENTITY USING INDEX code_only`);
      const messages = await follow("public.by_index", [
        "INSERT INTO public.by_index VALUES (1, 'c', 5)",
        "DELETE FROM public.by_index",
      ]);
      const deleted = messages.find((message) => message.kind === "delete");
      expect(deleted?.kind === "delete" && texts(deleted.key)).toEqual([null, "c", null]);
      expect(await tableOf("by_index")).toMatchObject({ key: ["code"], replicaIdentity: "i" });
    });

    test("generated columns are neither in the stream nor replicated", async () => {
      await client.query(
        `CREATE TABLE public.made (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, note text)`,
      );
      const messages = await follow("public.made", ["INSERT INTO public.made (id, note) VALUES (1, 'n')"]);
      const table = await tableOf("made");
      const columns = replicatedColumns(table).map(({ name }) => name);
      expect(columns).toEqual(["id", "note"]);
      expect(encode(messages, columns)).toBe("1\tn\n");
    });

    test.runIf(version >= 18)("generated columns that a publication adds are left out by name", async () => {
      await client.query(
        "CREATE TABLE public.made2 (id int PRIMARY KEY, t int GENERATED ALWAYS AS (id * 2) STORED, n int)",
      );
      const messages = await follow("public.made2 WITH (publish_generated_columns = stored)", [
        "INSERT INTO public.made2 (id, n) VALUES (1, 7)",
      ]);
      expect(relationNames(messages)).toEqual([["id", "t", "n"]]);
      expect(encode(messages, ["id", "n"])).toBe("1\t7\n");
    });

    test("a publication's column list shows in relation and rows alike", async () => {
      await client.query("CREATE TABLE public.listed (id int PRIMARY KEY, secret text, shown text)");
      const messages = await follow("public.listed (id, shown)", [
        "INSERT INTO public.listed VALUES (1, 's', 'o')",
        "UPDATE public.listed SET shown = 'p'",
      ]);
      expect(relationNames(messages)).toEqual([["id", "shown"]]);
      expect(encode(messages, ["id", "shown"])).toBe("1\to\n1\tp\n");
      expect(encode(messages, ["id", "secret", "shown"])).toBe("1\t\\N\to\n1\t\\N\tp\n");
    });

    test("partitions come as rows of the root, in the root's order of columns", async () => {
      await client.query(`CREATE TABLE public.root (id int, at int, note text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
        CREATE TABLE public.part1 PARTITION OF public.root FOR VALUES FROM (0) TO (10);
        CREATE TABLE public.part2 (note text, gone int, at int NOT NULL, id int NOT NULL, PRIMARY KEY (id, at));
        ALTER TABLE public.part2 DROP COLUMN gone;
        ALTER TABLE public.root ATTACH PARTITION public.part2 FOR VALUES FROM (10) TO (20)`);
      const messages = await follow("public.root WITH (publish_via_partition_root = true)", [
        "INSERT INTO public.root VALUES (1, 5, 'a'), (2, 15, 'b')",
        "UPDATE public.root SET at = 16 WHERE id = 1",
        "DELETE FROM public.root WHERE id = 2",
      ]);
      const table = await tableOf("root");
      expect(table).toMatchObject({ relkind: "p", key: ["id", "at"] });
      const changed = messages.flatMap((message) => ("relation" in message ? [message.relation] : []));
      expect(new Set(changed)).toEqual(new Set([table.oid]));
      expect(messages.map(({ kind }) => kind).filter((kind) => /insert|update|delete/.test(kind))).toEqual([
        "insert",
        "insert",
        "delete",
        "insert",
        "delete",
      ]);
      expect(encode(messages.slice(0, 8), ["id", "at", "note"])).toContain("1\t5\ta\n2\t15\tb\n");
    });

    test("columns that are added, dropped, renamed and widened announce themselves, with what old rows have", async () => {
      await client.query("CREATE TABLE public.moving (id int PRIMARY KEY, old text, n int)");
      const messages = await follow("public.moving", [
        "INSERT INTO public.moving VALUES (1, 'o', 1)",
        `ALTER TABLE public.moving ADD added text DEFAULT E'a "quoted", {b}\\\\ \\t', ADD day date DEFAULT '2024-02-29',
           ADD list int[] DEFAULT '{1,2}', ADD blob bytea DEFAULT '\\x0a5c', ADD empty text, ADD late timestamptz DEFAULT 'infinity'`,
        "ALTER TABLE public.moving DROP old, ALTER n TYPE bigint",
        "ALTER TABLE public.moving RENAME n TO m",
        "INSERT INTO public.moving (id, m) VALUES (2, 5000000000)",
      ]);
      expect(relationNames(messages)).toEqual([
        ["id", "old", "n"],
        ["id", "m", "added", "day", "list", "blob", "empty", "late"],
      ]);
      const { columns } = await tableOf("moving");
      expect(columns.map(({ name, typeName }) => [name, typeName])).toContainEqual(["m", "bigint"]);
      // Widening rewrote the table, so nothing is missing any more; a table that was not rewritten shows it.
      await client.query("CREATE TABLE public.kept (id int PRIMARY KEY); INSERT INTO public.kept VALUES (1)");
      await client.query(`ALTER TABLE public.kept ADD added text DEFAULT E'a "quoted", {b}\\\\ \\t',
        ADD day date DEFAULT '2024-02-29', ADD list int[] DEFAULT '{1,2}', ADD blob bytea DEFAULT '\\x0a5c', ADD empty text,
        ADD late timestamptz DEFAULT 'infinity'`);
      const kept = (await tableOf("kept")).columns.map(({ missingValue }) => missingValue);
      expect(kept).toEqual([
        undefined,
        `a "quoted", {b}\\ \t`,
        "2024-02-29",
        "{1,2}",
        "\\x0a5c",
        undefined,
        "infinity",
      ]);
    });

    test("truncates name every table, and logical messages arrive with and without a transaction", async () => {
      await client.query(
        "CREATE TABLE public.t1 (id int PRIMARY KEY); CREATE TABLE public.t2 (id int REFERENCES public.t1)",
      );
      const messages = await follow("public.t1, public.t2", [
        "TRUNCATE public.t1 RESTART IDENTITY CASCADE",
        "SELECT pg_logical_emit_message(true, 'in', 'x'), pg_logical_emit_message(false, 'out', '\\x00ff'::bytea)",
      ]);
      const truncate = messages.find((message) => message.kind === "truncate");
      expect(truncate).toMatchObject({ cascade: true, restartIdentity: true });
      expect(truncate?.kind === "truncate" && truncate.relations.length).toBe(2);
      const emitted = messages.flatMap((message) =>
        message.kind === "message" ? [[message.prefix, message.transactional, message.content.toString("hex")]] : [],
      );
      expect(emitted).toContainEqual(["in", true, "78"]);
      expect(emitted).toContainEqual(["out", false, "00ff"]);
    });

    test("transactions that are streamed before they end: rows, aborted parts and the commit", async () => {
      await client.query(
        "CREATE TYPE public.tone AS ENUM ('low'); CREATE TABLE public.huge (id int PRIMARY KEY, t public.tone, v text)",
      );
      const insert = (from: number) =>
        `INSERT INTO public.huge SELECT i, 'low', repeat('x', 200) FROM generate_series(${from}, ${from + 1999}) AS i`;
      const messages = await follow(
        "public.huge",
        ["BEGIN", insert(0), "SAVEPOINT a", insert(2000), "ROLLBACK TO a", insert(4000), "COMMIT"],
        { proto_version: "2", streaming: "on" },
      );
      const kinds = new Set(messages.map(({ kind }) => kind));
      expect([...kinds]).toEqual(
        expect.arrayContaining(["streamStart", "streamStop", "streamCommit", "relation", "type"]),
      );
      const aborted = messages.flatMap((message) => (message.kind === "streamAbort" ? [message.subxid] : []));
      const inserts = messages.filter((message) => message.kind === "insert");
      expect(inserts.filter(({ xid }) => xid === undefined)).toEqual([]);
      const alive = inserts.filter(({ xid }) => !aborted.includes(xid as number));
      expect(alive.length).toBe(4000);
      const commit = messages.find((message) => message.kind === "streamCommit");
      const [row] = (await client.query("SELECT pg_current_wal_lsn()::text AS lsn")).rows as { lsn: string }[];
      const [high, low] = (row?.lsn ?? "").split("/").map((part) => BigInt(`0x${part}`)) as [bigint, bigint];
      expect(commit?.kind === "streamCommit" && commit.endLsn <= (high << 32n) + low && commit.endLsn > 0n).toBe(true);
    });

    test("a database in another encoding arrives as UTF-8, in COPY and stream alike", async () => {
      await client.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
      await using latin = await server.client({ database: "latin" });
      await latin.query(sessionSql);
      await latin.query(
        "CREATE TABLE public.t (id int PRIMARY KEY, v text, a text[]); CREATE PUBLICATION p FOR TABLE public.t",
      );
      await latin.query("SELECT pg_create_logical_replication_slot('latin', 'pgoutput')");
      await latin.query("INSERT INTO public.t VALUES (1, 'Grüße ÿ', '{é,\"ü,ö\"}')");
      const messages = await slotMessages(server, "latin", { proto_version: "1", publication_names: "p" }, "latin");
      const copied = Buffer.concat(
        await copyBytes(latin, copySelect({ schema: "public", name: "t" }, ["id", "v", "a"].map(quoteName))),
      );
      expect(copied.toString()).toBe('1\tGrüße ÿ\t{é,"ü,ö"}\n');
      expect(
        encode(
          messages.map((message) => decode(message)),
          ["id", "v", "a"],
        ),
      ).toBe(copied.toString());
    });

    test("the catalog tells types beneath domains, elements of arrays and labels apart", async () => {
      await client.query(`CREATE TYPE public.colour AS ENUM ('red', 'deep "blue"'); CREATE DOMAIN public.tags AS text[];
        CREATE DOMAIN public.amount AS numeric(9, 2); CREATE DOMAIN public.total AS public.amount;
        CREATE TABLE public."Odd ""name" (id bigint PRIMARY KEY, c public.colour, cs public.colour[] NOT NULL, tags public.tags,
          total public.total, grid int[][], b box[], "we'ird\\" varchar(5))`);
      const [first, second] = await readTables(client, [
        { schema: "public", name: "no such table" },
        { schema: "public", name: 'Odd "name' },
      ]);
      expect(second).toBeUndefined();
      expect(first?.name).toBe('Odd "name');
      const column = (name: string) => first?.columns.find((each) => each.name === name);
      expect(column("c")?.type).toMatchObject({ name: "public.colour", kind: "enum", labels: ["red", 'deep "blue"'] });
      expect(column("cs")).toMatchObject({
        notNull: true,
        dimensions: 1,
        type: { kind: "array", element: { kind: "enum" } },
      });
      expect(column("tags")).toMatchObject({
        dimensions: 1,
        type: { kind: "domain", base: { element: { name: "text" } } },
      });
      expect(column("total")?.type.base?.base).toMatchObject({ name: "numeric", typmod: ((9 << 16) | 2) + 4 });
      expect(column("grid")?.dimensions).toBe(2);
      expect(column("b")?.type.element).toMatchObject({ name: "box", delimiter: ";" });
      expect(column("we'ird\\")?.typeName).toBe("character varying(5)");
    });
  });
}

function texts(tuple: Tuple | undefined): unknown[] | undefined {
  if (tuple === undefined) return undefined;
  return Array.from({ length: tuple.size }, (_, index) => {
    const value = tuple.bytes(index);
    return Buffer.isBuffer(value) ? value.toString() : value;
  });
}

function relationNames(messages: readonly ReplicationMessage[]): string[][] {
  return messages.flatMap((message) => (message.kind === "relation" ? [message.columns.map(({ name }) => name)] : []));
}

/** New rows as TabSeparated, each by the relation before it. */
function encode(messages: readonly ReplicationMessage[], columns: readonly string[]): string {
  const writers = new Map<number, TsvRowWriter>();
  let text = "";
  for (const message of messages) {
    if (message.kind === "relation") {
      writers.set(message.oid, new TsvRowWriter(columnIndexes(message.columns, columns), message.columns.length));
    }
    if (message.kind !== "insert" && message.kind !== "update") continue;
    const writer = writers.get(message.relation) as TsvRowWriter;
    expect(writer.append(message.row, "")).toBe(true);
    text += writer.take().toString();
  }
  return text;
}
