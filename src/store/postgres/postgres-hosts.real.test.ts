/** A metadata database of two hosts: a primary, and a standby that is promoted in its place. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../../../harness/network/relay.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { until } from "../../../harness/serve.ts";
import { openPostgres } from "./postgres-database.ts";
import { PostgresHosts } from "./postgres-hosts.ts";

const missing = postgresMissing(18);

describe.skipIf(missing !== undefined)(`a metadata database of two hosts${missing ? `: ${missing}` : ""}`, () => {
  let primary: TestPostgres;
  let standby: TestPostgres;
  beforeAll(async () => {
    primary = await TestPostgres.start({ settings: { synchronous_standby_names: "*", synchronous_commit: "local" } });
    standby = await TestPostgres.standbyOf(primary, "standby_1");
    await primary.sql("ALTER SYSTEM SET synchronous_commit = 'on'");
  });
  afterAll(async () => {
    await standby[Symbol.asyncDispose]();
    await primary[Symbol.asyncDispose]();
  });

  const urlOf = (hosts: readonly Pick<TestPostgres, "host" | "port">[]) => {
    const login = `${primary.user}:${encodeURIComponent(primary.password)}`;
    const places = hosts.map(({ host, port }) => `${host}:${port}`).join(",");
    return `postgres://${login}@${places}/${primary.database}?target_session_attrs=read-write`;
  };

  test("a database opened with the standby named first, too, writes to the primary, and follows a promotion", async () => {
    const [one, other] = await Promise.all([
      openPostgres(urlOf([primary, standby]), { allowsAsyncReplication: true }),
      openPostgres(urlOf([standby, primary]), { allowsAsyncReplication: true }),
    ]);
    await one.run("CREATE TABLE notes (n BIGINT PRIMARY KEY)");
    await one.run("INSERT INTO notes (n) VALUES (1)");
    await other.run("INSERT INTO notes (n) VALUES (2)");
    // The primary waits for no standby.
    const [written] = await primary.sql("SELECT pg_current_wal_lsn() AS lsn");
    await until("the standby has both", async () => {
      const [replayed] = await standby.sql(`SELECT pg_last_wal_replay_lsn() >= '${written?.lsn}' AS has`);
      return replayed?.has === true;
    });
    await primary.crash();
    await expect(one.run("INSERT INTO notes (n) VALUES (3)")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await standby.promote();
    for (const [db, n] of [
      [one, 4],
      [other, 5],
    ] as const) {
      await until("the new primary is written to", () =>
        db.run("INSERT INTO notes (n) VALUES (?)", n).then(
          () => true,
          (error: { code?: string }) => {
            expect(error.code).toBe("STORE_UNAVAILABLE");
            return false;
          },
        ),
      );
      expect(await db.all("SELECT n FROM notes WHERE n < 4 ORDER BY n")).toEqual([{ n: 1 }, { n: 2 }]);
    }
    await Promise.all([one.close(), other.close()]);
  });

  test("work that waits for a host that has vanished fails when a new connection to it has no answer, either", async () => {
    using relay = await Relay.start(standby.port);
    const hosts = new PostgresHosts(urlOf([{ host: "127.0.0.1", port: relay.port }, standby]), 1_500);
    const pool = new pg.Pool(hosts.poolOptions);
    const client = await hosts.connect(pool);
    client.on("error", () => {});
    const unwatch = hosts.watch(client);
    // A host that answers may take its time.
    await client.query("SELECT pg_sleep(2)");
    relay.swallow();
    await expect(client.query("SELECT 1")).rejects.toThrow("the host does not answer");
    unwatch();
    client.release(true);
    const next = await hosts.connect(pool);
    expect((await next.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    next.release();
    await pool.end();
  });

  test("of hosts that are not a primary the error names all, and no password", async () => {
    await expect(openPostgres("postgres://u:secret@127.0.0.1:1,127.0.0.1:2/db")).rejects.toThrow(
      /^the metadata database postgres:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/db cannot be used: .*ECONNREFUSED/,
    );
  });
});
