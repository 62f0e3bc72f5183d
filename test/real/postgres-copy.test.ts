/** COPY as bytes of the socket: the rows that a driver gives one by one, with and without TLS, and what ends a copy. */
import { once } from "node:events";
import net from "node:net";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AppError } from "../../src/lib/errors.ts";
import { connect } from "../../src/sources/relational-db/connection.ts";
import { CopyFrames } from "../../src/sources/relational-db/copy-frames.ts";
import type { RelationalDbConfig } from "../../src/sources/relational-db/kind.ts";
import { Buffers, Pieces } from "../../src/sources/relational-db/pieces.ts";
import { postgresMissing, TestPostgres } from "../support/postgres.ts";
import { copyBytes } from "../support/postgres-bytes.ts";
import { makeCertificate, opensslMissing } from "../support/postgres-tls.ts";
import { until } from "../support/serve.ts";

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

  function config(more: Partial<RelationalDbConfig> = {}): RelationalDbConfig {
    const { host, port, user, password, database } = server;
    return { host, port, database, credentials: { username: user, password }, tableMappings: [], ...more };
  }

  async function open(more: Partial<RelationalDbConfig> = { disableTls: true }) {
    const frames = new CopyFrames();
    const client = await connect(config(more), { frames });
    return { client, frames, [Symbol.asyncDispose]: () => client.end().catch(() => {}) };
  }

  async function rowsOf(client: pg.Client, frames: CopyFrames, sql: string) {
    const pieces = new Pieces(new Buffers(1));
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

  test("notices and changed parameters within a copy are no rows", async () => {
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

  async function untilCopying(pid: number): Promise<void> {
    const sql = `SELECT 1 FROM pg_stat_progress_copy WHERE pid = ${pid} AND tuples_processed > 3`;
    await until("rows are copied", async () => (await server.sql(sql)).length > 0);
  }
});
