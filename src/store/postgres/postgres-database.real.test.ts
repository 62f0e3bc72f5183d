/** What is Postgres' own about the metadata database: other processes, and a server that goes away. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newPipe, newService } from "../../../harness/new-pipe.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { OrganizationStore } from "../access/organizations.ts";
import { BackupStore } from "../backups/backups.ts";
import type { Database } from "../database/database.ts";
import { Sealer } from "../database/secrets.ts";
import { SharedLeases } from "../nodes/leases.ts";
import type { NodeRole } from "../nodes/nodes.ts";
import { openStoresOf } from "../open.ts";
import { Ledger } from "../pipes/ledger.ts";
import { insertIntents } from "../pipes/ledger-writes.ts";
import { PipeStore } from "../pipes/pipes.ts";
import { ServiceStore } from "../services/services.ts";
import { openPostgres } from "./postgres-database.ts";

const missing = postgresMissing(18);
const secretKey = Buffer.alloc(32, 7).toString("base64");

describe.skipIf(missing !== undefined)(`the metadata database on Postgres${missing ? `: ${missing}` : ""}`, () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await TestPostgres.start({ version: 18 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function twoOn(name: string): Promise<[Database, Database]> {
    const url = await databaseUrl(server, name);
    return [await openPostgres(url), await openPostgres(url)];
  }

  test("of several processes that start on an empty database, one makes the tables and all can use them", async () => {
    const url = await databaseUrl(server, "empty");
    await server.sql("CREATE DATABASE bare");
    const bare = url.replace(/[^/]+$/, "bare");
    const opened = await Promise.all([1, 2, 3].map(() => openPostgres(bare)));
    for (const db of opened) expect(await db.all("SELECT id FROM organizations")).toEqual([]);
    await Promise.all(opened.map((db) => db.close()));
  });

  test("a migration of a newer version refuses an older one only if it is breaking", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-migrations-"));
    await server.sql("CREATE DATABASE newer");
    const url = (await databaseUrl(server, "empty")).replace(/[^/]+$/, "newer");
    const open = async () => await (await openPostgres(url, { folder })).close();
    const [more, less] = [join(folder, "300-more.sql"), join(folder, "301-less.sql")];
    writeFileSync(more, "CREATE TABLE more (a BIGINT);");
    await open();
    rmSync(more);
    await open();
    writeFileSync(less, "-- breaking: versions before 9 read it.\nDROP TABLE more;");
    await open();
    rmSync(less);
    await expect(open()).rejects.toThrow(/newer version .* \(migration 301\).* start the newer version/);
    rmSync(folder, { recursive: true });
  });

  test("what a transaction has read and written holds, whatever another process writes at the same time", async () => {
    const [one, other] = await twoOn("counter");
    await one.run("CREATE TABLE counter (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)");
    await one.run("INSERT INTO counter (id, n) VALUES (1, 0)");
    const raise = (db: Database) =>
      db.transaction(async (tx) => {
        const row = await tx.get<{ n: number }>("SELECT n FROM counter WHERE id = 1");
        await tx.run("UPDATE counter SET n = ? WHERE id = 1", (row?.n ?? 0) + 1);
      });
    await Promise.all(Array.from({ length: 40 }, (_, i) => raise(i % 2 === 0 ? one : other)));
    expect(await one.get("SELECT n FROM counter")).toEqual({ n: 40 });
    await Promise.all([one.close(), other.close()]);
  });

  test("two processes that request a backup of a service at the same time make one", async () => {
    const [one, other] = await twoOn("backups");
    const organizations = new OrganizationStore(one);
    for (let round = 0; round < 10; round += 1) {
      const serviceId = await newService({ organizations, services: new ServiceStore(one) });
      const organizationId = (await organizations.list())[0]?.id ?? "";
      const request = (db: Database) =>
        new BackupStore(db).request({
          ...{ organizationId, serviceId, serviceName: "s", name: "b", trigger: "request", status: "queued" },
          ...{ type: "full", baseId: null, location: { kind: "local", root: "/" }, encrypted: false, startedAt: "" },
        });
      const made = await Promise.all([request(one), request(other), request(one), request(other)]);
      expect(made.filter((id) => id !== undefined)).toHaveLength(1);
    }
    await Promise.all([one.close(), other.close()]);
  });

  test("while one process holds a pipe, another begins no batch of it", async () => {
    const [one, other] = await twoOn("holds");
    const stores = { organizations: new OrganizationStore(one), services: new ServiceStore(one) };
    const pipeId = await newPipe({ ...stores, pipes: new PipeStore(one, new Sealer(Buffer.alloc(32))) });
    const leases = new SharedLeases({ db: other, nodeId: "w" });
    await leases.claim("pipe", [pipeId]);
    const [holding, working] = [new Ledger(one), new Ledger(other, leases)];
    let isDone = false;
    const work = (async () => {
      for (let at = 0; !isDone; at += 1) {
        await working.begin(pipeId, { batchId: `b${at}`, lane: "l", intent: {} });
        await working.confirm(pipeId, { batchId: `b${at}`, lane: "l", checkpoint: at, marks: {}, counts: {} });
      }
    })();
    for (let round = 0; round < 10; round += 1) {
      const hold = await holding.hold([pipeId]);
      while ((await hold.unsettled()).size > 0) await new Promise((next) => setImmediate(next));
      const seen = [];
      for (let look = 0; look < 5; look += 1) {
        seen.push([await holding.intents(pipeId), await holding.checkpoints(pipeId)]);
        await one.run("UPDATE services SET name = name");
      }
      expect(new Set(seen.map((state) => JSON.stringify(state))).size).toBe(1);
      expect(seen[0]?.[0]).toEqual([]);
      const { l: before } = await holding.checkpoints(pipeId);
      await hold.release();
      await vi.waitFor(async () => expect((await holding.checkpoints(pipeId)).l).not.toBe(before), 60_000);
    }
    isDone = true;
    await work;
    await Promise.all([one.close(), other.close()]);
  }, 120_000);

  test("intents contain a batch whose begin has not ended, although its process has lost the connection", async () => {
    const url = await databaseUrl(server, "lost commits");
    const db = await openPostgres(url);
    const stores = { organizations: new OrganizationStore(db), services: new ServiceStore(db) };
    const pipeId = await newPipe({ ...stores, pipes: new PipeStore(db, new Sealer(Buffer.alloc(32))) });
    const leases = new SharedLeases({ db, nodeId: "w" });
    await leases.claim("pipe", [pipeId]);
    const ledger = new Ledger(db, leases);
    const begun = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const lost = await openPostgres(url);
    const ending = lost.transaction(async (tx) => {
      await leases.require(tx, "pipe", pipeId);
      await insertIntents(tx, [{ pipeId, intent: { batchId: "b", lane: "l", intent: {} } }]);
      begun.resolve();
      await mayEnd.promise;
    }, "holder");
    await begun.promise;
    const intents = ledger.intents(pipeId);
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    await Promise.race([intents, vi.waitFor(async () => expect(await db.all(waiting)).toHaveLength(1), 60_000)]);
    mayEnd.resolve();
    await ending;
    expect((await intents).map(({ batchId }) => batchId)).toEqual(["b"]);
    await Promise.all([db.close(), lost.close()]);
  });

  test("servers share a database, one on each data directory, and a tool waits until they are gone", async () => {
    const url = await databaseUrl(server, "servers");
    const dirs = [1, 2, 3].map((n) => mkdtempSync(join(tmpdir(), `millrace-two-${n}`))) as [string, string, string];
    const open = (dataDir: string, role: NodeRole = "server") =>
      openStoresOf({ dataDir, secretKey, database: url, role });
    const [one, other] = [await open(dirs[0]), await open(dirs[1])];
    await expect(open(dirs[0])).rejects.toThrow("another Millrace process already uses");
    await one.organizations.create("of one");
    await other.organizations.create("of the other");
    expect(await one.organizations.list()).toEqual(await other.organizations.list());
    const tool = open(dirs[2], "tool");
    // A process that is gone does not renew.
    await one.close();
    await other.db.run("UPDATE nodes SET expires_at = 1 WHERE role = 'server'");
    await (await tool).close();
    await other.close();
    for (const dir of dirs) rmSync(dir, { recursive: true });
  });

  test("servers that start together make one organization", async () => {
    const opened = await twoOn("first");
    const first = await Promise.all(opened.map((db) => new OrganizationStore(db).first("o")));
    expect(first[0]).toEqual(first[1]);
    expect(await new OrganizationStore(opened[0]).list()).toEqual([first[0]]);
    await Promise.all(opened.map((db) => db.close()));
  });

  test("of processes that claim at the same time, each pipe has one, and none stays without", async () => {
    const [one, other] = await twoOn("claims");
    const ids = Array.from({ length: 120 }, (_, i) => `p${String(i).padStart(3, "0")}`);
    const racers = [one, other, one, other].map((db, i) => new SharedLeases({ db, nodeId: `n${i}` }));
    const claims = racers.map(async (leases, i) => {
      const mine: string[] = [];
      const order = ids.toSorted(() => (i % 2 === 0 ? 1 : -1));
      for (let at = 0; at < order.length; at += 7) mine.push(...(await leases.claim("pipe", order.slice(at, at + 7))));
      return mine;
    });
    const claimed = (await Promise.all(claims)).flat();
    expect(claimed.toSorted()).toEqual(ids);
    expect(await one.all("SELECT DISTINCT fence FROM leases")).toEqual([{ fence: 1 }]);
    await Promise.all([one.close(), other.close()]);
  });

  test("what a holder has begun to write is written before a takeover, and nothing after it", async () => {
    const [one, other] = await twoOn("takeover");
    const stores = { organizations: new OrganizationStore(one), services: new ServiceStore(one) };
    const pipeId = await newPipe({ ...stores, pipes: new PipeStore(one, new Sealer(Buffer.alloc(32))) });
    const [before, after] = [one, other].map((db, i) => new SharedLeases({ db, nodeId: `n${i}` })) as [
      SharedLeases,
      SharedLeases,
    ];
    await before.claim("pipe", [pipeId]);
    const ledger = new Ledger(one, before);
    let written = 0;
    const work = (async () => {
      for (;;) {
        await ledger.note(pipeId, {}, { sentRows: 1 });
        written += 1;
      }
    })();
    // Before the takeover, because the refusal may come before that has returned.
    const refused = expect(work).rejects.toMatchObject({ code: "LEASE_LOST" });
    await vi.waitFor(() => expect(written).toBeGreaterThan(20), 60_000);
    await other.run("UPDATE leases SET expires_at = 1");
    await after.claim("pipe", [pipeId]);
    const taken = await other.get("SELECT value FROM pipe_counters WHERE pipe_id = ?", pipeId);
    await refused;
    expect(await other.get("SELECT value FROM pipe_counters WHERE pipe_id = ?", pipeId)).toEqual(taken);
    expect(taken).toEqual({ value: written });
    await Promise.all([one.close(), other.close()]);
  });

  test("while the server is away, reads and writes say so, and afterwards they work again", async () => {
    const db = await openPostgres(await databaseUrl(server, "away"));
    await db.run("CREATE TABLE t (a BIGINT)");
    await server.stop();
    const insert = () => db.run("INSERT INTO t (a) VALUES (1)");
    for (const asked of [db.all("SELECT a FROM t"), insert(), db.transaction((tx) => tx.all("SELECT 1"))]) {
      await expect(asked).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", status: 503 });
    }
    await server.start();
    await insert();
    expect(await db.all("SELECT a FROM t")).toEqual([{ a: 1 }]);
    await db.close();
  });

  test("a database that cannot be used is named, without the password", async () => {
    const url = await databaseUrl(server, "named");
    const wrong = url.replace(/:[^:@]+@/, ":not-the-password@");
    await expect(openPostgres(wrong)).rejects.toThrow(/postgres:\/\/127\.0\.0\.1:\d+\/\w+ cannot be used: .*password/);
    await expect(openPostgres(wrong)).rejects.not.toThrow("not-the-password");
    const latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    await server.sql(latin);
    await expect(openPostgres(url.replace(/[^/]+$/, "latin"))).rejects.toThrow(/LATIN1: create a database with UTF8/);
  });

  test("a server starts with the key that the secrets are encrypted with, and with no other", async () => {
    const database = await databaseUrl(server, "keys");
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-keys-"));
    const open = (key: string | undefined) => openStoresOf({ dataDir, secretKey: key, database });
    await (await open(secretKey)).close();
    await expect(open(undefined)).rejects.toThrow("MILLRACE_SECRET_KEY");
    await expect(open(Buffer.alloc(32, 8).toString("base64"))).rejects.toThrow("secretKey is not the key");
    await (await open(secretKey)).close();
    rmSync(dataDir, { recursive: true });
  });

  test("a server whose failover may lose confirmed transactions is refused, unless the operator insists", async () => {
    const url = await databaseUrl(server, "durable");
    const allowed = async () => (await openPostgres(url, { allowsAsyncReplication: true })).close();
    await using standby = await TestPostgres.standbyOf(server, "s", { hot_standby: "on" });
    await vi.waitFor(() => expect(openPostgres(url)).rejects.toThrow("set synchronous_standby_names"), 60_000);
    await allowed();
    await server.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await server.sql("SELECT pg_reload_conf()");
    await vi.waitFor(async () => (await openPostgres(url)).close(), 60_000);
    await expect(openPostgres(url.replace(/:\d+\//, `:${standby.port}/`))).rejects.toThrow("name the primary");
    await server.sql("ALTER SYSTEM RESET synchronous_standby_names");
    await server.sql("ALTER SYSTEM SET synchronous_commit = 'off'");
    await server.sql("SELECT pg_reload_conf()");
    await vi.waitFor(() => expect(openPostgres(url)).rejects.toThrow("synchronous_commit is off"), 60_000);
    await allowed();
    await server.sql("ALTER SYSTEM RESET synchronous_commit");
    await server.sql("SELECT pg_reload_conf()");
    await standby[Symbol.asyncDispose]();
    await vi.waitFor(async () => (await openPostgres(url)).close(), 60_000);
  });

  test("texts have the order of their bytes, and the character 0 does not end one", async () => {
    const db = await openPostgres(await databaseUrl(server, "texts"));
    const names = ["b", "B", "a", "é", "_", "\u{1f600}", "x\0y"];
    for (const [id, name] of names.entries()) {
      await db.run("INSERT INTO organizations (id, name, created_at) VALUES (?, ?, '')", String(id), name);
    }
    const rows = await db.all<{ name: string }>("SELECT name FROM organizations ORDER BY name");
    expect(rows.map(({ name }) => name)).toEqual(["B", "_", "a", "b", "x\ufffdy", "é", "\u{1f600}"]);
    await db.close();
  });
});
