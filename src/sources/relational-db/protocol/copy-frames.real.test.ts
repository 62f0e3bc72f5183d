/** COPY as bytes of the socket: the rows that a driver gives one by one, with and without TLS, and what ends a copy. */
import { once } from "node:events";
import net from "node:net";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../../../../harness/engine/stage.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { copyBytes } from "../../../../harness/postgres/bytes.ts";
import { loadCopy } from "../../../../harness/postgres/load.ts";
import { postgresMissing, TestPostgres } from "../../../../harness/postgres/postgres.ts";
import { makeCertificate, opensslMissing } from "../../../../harness/postgres/tls.ts";
import { until } from "../../../../harness/serve.ts";
import { testContext } from "../../../../harness/sources/source-context.ts";
import type { AppError } from "../../../lib/errors.ts";
import type { SourceTable } from "../declaration/durable.ts";
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";
import { readTables } from "../server/catalog.ts";
import { connect } from "../server/connection.ts";
import { BufferPool, ChunkBuilder } from "../snapshot/chunks.ts";
import { copiedRows } from "../snapshot/copied-rows.ts";
import { DestinationTables } from "../tables/destination.ts";
import { planTable } from "../tables/tables.ts";
import { CopyFrames } from "./copy-frames.ts";

const missing = postgresMissing(18) ?? opensslMissing();
if (missing !== undefined) console.log(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("copies of Postgres", () => {
  let server: TestPostgres;

  beforeAll(async () => {
    server = await TestPostgres.start();
    makeCertificate(server.dataDir);
    await server.sql("ALTER SYSTEM SET ssl = on");
    await server.stop();
    await server.start();
    // Rows of one byte to a megabyte.
    await server.sql(`CREATE TABLE t AS SELECT i, repeat(chr(97 + i % 26), (i * 7919) % 400) AS s FROM generate_series(1, 20000) i;
      INSERT INTO t SELECT -i, repeat('x', 1000000) FROM generate_series(1, 3) i; INSERT INTO t VALUES (NULL, NULL)`);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function serverOf(more: Partial<RelationalDbConfig> = {}): SourceServer {
    const { host, port, user, password, database } = server;
    const credentials = { username: user, password };
    return { network: anyNetwork, config: { host, port, database, credentials, tableMappings: [], ...more } };
  }

  async function open(more: Partial<RelationalDbConfig> = { disableTls: true }) {
    const frames = new CopyFrames();
    const client = await connect(serverOf(more), { frames });
    return { client, frames, [Symbol.asyncDispose]: () => client.end().catch(() => {}) };
  }

  async function rowsOf(client: pg.Client, frames: CopyFrames, sql: string) {
    const pieces = new ChunkBuilder(new BufferPool(1));
    await frames.copy(client, sql, pieces);
    return { rows: pieces.rows, bytes: Buffer.concat(pieces.take()) };
  }

  async function failure(copy: Promise<unknown>): Promise<AppError> {
    return await copy.then(
      () => {
        throw new Error("it did not fail");
      },
      (error: AppError) => error,
    );
  }

  const whole = "COPY (SELECT * FROM public.t) TO STDOUT";

  test.each([
    ["a plain connection", { disableTls: true }],
    ["TLS", { skipCertVerification: true }],
  ])("over %s: the bytes that the driver gives, copy after copy, with queries between them", async (_, more) => {
    await using plain = await server.client();
    const wanted = Buffer.concat(await copyBytes(plain, whole));
    await using opened = await open(more);
    const { client, frames } = opened;
    for (let round = 0; round < 3; round += 1) {
      const { rows, bytes } = await rowsOf(client, frames, whole);
      expect(rows).toBe(20_004);
      expect(bytes.equals(wanted)).toBe(true);
      expect((await client.query("SELECT 1 + 1 AS two")).rows).toEqual([{ two: 2 }]);
    }
    expect((await rowsOf(client, frames, "COPY (SELECT 1 WHERE false) TO STDOUT")).rows).toBe(0);
  });

  test("notices and changed parameters within a copy are not rows", async () => {
    await server.sql(`CREATE FUNCTION loud(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
      RAISE NOTICE 'row %', i; PERFORM set_config('application_name', 'at ' || i, false); RETURN i; END $$`);
    await using opened = await open();
    const notices: string[] = [];
    opened.client.on("notice", ({ message }) => notices.push(String(message)));
    const sql = "COPY (SELECT public.loud(i) FROM generate_series(1, 50) i) TO STDOUT";
    const { bytes } = await rowsOf(opened.client, opened.frames, sql);
    expect(bytes.toString()).toBe(Array.from({ length: 50 }, (_, index) => `${index + 1}\n`).join(""));
    expect(notices).toHaveLength(50);
  });

  test("an error before and within the rows is the server's, and the connection goes on", async () => {
    await using opened = await open();
    const { client, frames } = opened;
    expect((await failure(rowsOf(client, frames, "COPY nothing TO STDOUT"))).message).toMatch(/42P01/);
    const late = "COPY (SELECT 1 / (5000 - i) FROM generate_series(1, 10000) i) TO STDOUT";
    const error = await failure(rowsOf(client, frames, late));
    expect(error).toMatchObject({ code: "SOURCE_INVALID", message: "Postgres says: division by zero (22012)" });
    expect((await rowsOf(client, frames, whole)).rows).toBe(20_004);
  });

  test("a backend that is ended, a copy that is cancelled, and a sink that fails", async () => {
    const endless = "COPY (SELECT pg_sleep(0.01), repeat('x', 10000) FROM generate_series(1, 100000)) TO STDOUT";
    const during = async (sql: string) => {
      await using opened = await open();
      const { rows } = await opened.client.query("SELECT pg_backend_pid() AS pid");
      const copying = failure(rowsOf(opened.client, opened.frames, endless));
      await untilCopying(rows[0].pid);
      await server.sql(`SELECT ${sql}(${rows[0].pid})`);
      return await copying;
    };
    expect(await during("pg_terminate_backend")).toMatchObject({ code: "SOURCE_UNREACHABLE" });
    expect(await during("pg_cancel_backend")).toMatchObject({ code: "SOURCE_UNREACHABLE" });
    await using opened = await open();
    const broken = {
      begin: () => {
        throw new RangeError("no room");
      },
      add: () => {},
    };
    expect(await failure(opened.frames.copy(opened.client, endless, broken))).toBeInstanceOf(RangeError);
    await using ended = await open();
    const copying = failure(rowsOf(ended.client, ended.frames, endless));
    await ended.client.end();
    expect(await copying).toMatchObject({ code: "SOURCE_UNREACHABLE" });
  });

  test("a network that breaks in the middle of a row", async () => {
    let carried = 0;
    const proxy = net.createServer((near) => {
      const far = net.connect(server.port, server.host);
      near.pipe(far);
      near.on("error", () => far.destroy());
      far.on("error", () => near.destroy());
      far.on("data", (chunk) => {
        carried += chunk.length;
        near.write(chunk);
        if (carried > 300_000) near.destroy();
      });
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as net.AddressInfo;
    await using opened = await open({ disableTls: true, port });
    expect(await failure(rowsOf(opened.client, opened.frames, whole))).toMatchObject({ code: "SOURCE_UNREACHABLE" });
    proxy.close();
  });

  describe("rows that go straight into the table", () => {
    const list = `id int PRIMARY KEY, n numeric(8,2), d date NOT NULL, at timestamptz, t text, b boolean`;
    const values = `(1, 1.50, '2024-02-29', '2024-02-29 01:02:03.5+01', 'a', true), (2, 'NaN', 'infinity', '-infinity', NULL, NULL),
      (-3, NULL, '0044-03-15 BC', NULL, E'\\\\N\\t', false)`;
    let stage: Stage;
    let client: pg.Client;

    beforeAll(async () => {
      stage = await Stage.open();
      await server.sql(`CREATE TABLE direct (${list}); INSERT INTO direct VALUES ${values};
        CREATE TABLE mixed (${list}, raw bytea, list int[]); INSERT INTO mixed SELECT *, 'hi', '{1,NULL}' FROM direct`);
      client = await connect(serverOf({ disableTls: true }));
    });
    afterAll(async () => {
      await client.end();
      await stage.close();
    });

    async function planOf(name: string, nullable: boolean) {
      const [table] = await readTables(client, [{ schema: "public", name }]);
      const mapping = { sourceSchemaName: "public", sourceTable: name, targetTable: name };
      return planTable(table as SourceTable, mapping, "default", { nullable, hardDelete: false });
    }

    const rows = (from: string, more = "") =>
      stage.ok(`SELECT id, n, d, at, t, b, _version, _deleted${more} FROM ${from} ORDER BY id`);
    const wanted = (version: string) => [
      `-3\t\\N\t1900-01-01\t\\N\t\\\\N\\t\tfalse\t${version}\t0`,
      `1\t1.5\t2024-02-29\t2024-02-29 00:02:03.500000\ta\ttrue\t${version}\t0`,
      `2\t\\N\t2299-12-31\t0001-01-01 00:00:00.000000\t\\N\t\\N\t${version}\t0`,
    ];
    const later = "340282366920938463463374607431768211455";

    test.each(["0", later])("as version %s, and the same rows through a conversion", async (version) => {
      const plan = await planOf("direct", true);
      const direct = await loadCopy(stage, client, plan, "direct", { version });
      expect(direct).not.toContain("SELECT");
      expect((await rows("direct")).split("\n")).toEqual(wanted(version));
      const other = await loadCopy(stage, client, plan, "direct", { version, isExact: false });
      expect(other).toContain("FROM input(");
      expect((await rows("direct")).split("\n")).toEqual(wanted(version));
    });

    test("a table with columns that only the engine can convert", async () => {
      const sql = await loadCopy(stage, client, await planOf("mixed", true), "mixed");
      expect(sql).toContain("FROM input(");
      const more = (await rows("mixed", ", raw, list")).split("\n");
      expect(more).toEqual(wanted("0").map((row) => `${row}\thi\t[1,NULL]`));
    });

    test("a text that is none of its type is an error, never NULL", async () => {
      const good = ["1", "1.5", "2024-02-29", "2024-02-29 00:02:03", "a", "t"];
      const bad: [number, string][] = [
        [0, "x"],
        [0, "1.5"],
        [1, "NaN"],
        [1, "1.5x"],
        [1, "123456789.00"],
        [2, "infinity"],
        [2, "2024-01"],
        [3, "-infinity"],
        [3, "2024-01-01 00:00:00+00"],
        [3, "10000-01-01 00:00:00"],
        [3, "0044-03-15 00:00:00 BC"],
        [5, "maybe"],
      ];
      for (const nullable of [true, false]) {
        const plan = await planOf("direct", nullable);
        await loadCopy(stage, client, plan, "direct");
        const before = await rows("direct");
        const { sql, settings } = copiedRows(plan, "direct", "0", true).insert(Buffer.alloc(0), 0);
        const own = Object.fromEntries(Object.entries(settings ?? {}).map(([name, value]) => [name, String(value)]));
        for (const [at, text] of bad) {
          const row = `${good.with(at, text).join("\t")}\n`;
          const taken = await stage.ok(Buffer.from(`${sql}\n${row}`), own).catch(() => "refused");
          expect(taken, `${text} as ${plan.columns[at]?.type}`).toBe("refused");
        }
        expect(await rows("direct")).toBe(before);
        await stage.ok(Buffer.from(`${sql}\n${good.with(0, "7").join("\t")}\n`), own);
        expect((await rows("direct")).split("\n")).toHaveLength(4);
      }
    });

    test("only a table that is as the pipe has planned it takes them, with types and without defaults", async () => {
      const plan = await planOf("direct", true);
      const destination = new DestinationTables(
        testContext({
          destination: {
            query: async (sql: string) =>
              (await stage.ok(`${sql} FORMAT JSONEachRow`))
                .split("\n")
                .filter(Boolean)
                .map((row) => JSON.parse(row)),
            define: async (sql: string) => void (await stage.ok(sql)),
          },
        }),
      );
      const made =
        "id Int32, n Nullable(Decimal(8, 2)), d Date32, at Nullable(DateTime64(6, 'UTC')), t Nullable(String), b Nullable(Bool)";
      const own = "_version UInt128, _deleted UInt8";
      const isExact = async (columns: string) => {
        await stage.ok(`DROP TABLE IF EXISTS direct`);
        if (columns !== "")
          await stage.ok(`CREATE TABLE direct (${columns}) ENGINE = ReplacingMergeTree(_version) ORDER BY id`);
        return (await destination.prepare(plan, "id")).isExact;
      };
      expect(await isExact("")).toBe(true);
      expect(await isExact(`${own}, ${made}, more String DEFAULT 'x'`)).toBe(true);
      expect(await isExact(`${made.replace("'UTC'", "'Asia/Kathmandu'")}, ${own}`)).toBe(false);
      expect(await isExact(`${made.replace("t Nullable(String)", "t String")}, ${own}`)).toBe(false);
      expect(await isExact(`${made} DEFAULT true, ${own}`)).toBe(false);
      expect(await isExact(`${made}, _version UInt128 DEFAULT 5, _deleted UInt8`)).toBe(false);
      expect(await isExact(`${made}, _version UInt64, _deleted UInt8`)).toBe(false);
    });

    test("NULL is the zero value where columns are not Nullable", async () => {
      await loadCopy(stage, client, await planOf("direct", false), "direct");
      expect((await rows("direct")).split("\n")[2]).toBe("2\t0\t2299-12-31\t0001-01-01 00:00:00.000000\t\tfalse\t0\t0");
      expect((await rows("direct")).split("\n")[0]).toContain("1970-01-01 00:00:00.000000");
    });
  });

  async function untilCopying(pid: number): Promise<void> {
    const sql = `SELECT 1 FROM pg_stat_progress_copy WHERE pid = ${pid} AND tuples_processed > 3`;
    await until("rows are copied", async () => (await server.sql(sql)).length > 0);
  }
});
