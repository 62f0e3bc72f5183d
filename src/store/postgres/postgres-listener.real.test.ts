/** What processes on one Postgres database tell each other: after the commit, and again after a lost connection. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newPipe, newService } from "../../../harness/new-pipe.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { type Database, runAndTell } from "../database/database.ts";
import { keptList } from "../database/kept-list.ts";
import { openStoresOf } from "../open.ts";
import { openPostgres } from "./postgres-database.ts";

const missing = postgresMissing(18);
const secretKey = Buffer.alloc(32, 7).toString("base64");
/** Enough for what takes milliseconds, on a machine that is many times slower. */
const soon = { timeout: 30_000, interval: 10 };

describe.skipIf(missing !== undefined)(`notifications between processes${missing ? `: ${missing}` : ""}`, () => {
  let server: TestPostgres;
  let url: string;
  beforeAll(async () => {
    server = await TestPostgres.start({ version: 18 });
    url = await databaseUrl(server, "told");
    await (await openPostgres(url)).run("CREATE TABLE notes (id BIGINT PRIMARY KEY)");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A process that listens, and has been connected. */
  async function listening(onLost: (error: Error) => void = () => {}) {
    const db = await openPostgres(url, { onLost });
    const heard = vi.fn();
    db.onTold(heard);
    await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1), soon);
    return { db, heard, [Symbol.asyncDispose]: () => db.close() };
  }

  const note = (db: Database, id: number) => runAndTell(db, "INSERT INTO notes (id) VALUES (?)", id);
  const listeners = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()";

  test("others hear of a change when it is committed, and can read it at once; its own process does not", async () => {
    await using one = await listening();
    await using other = await listening();
    const read = keptList(other.db, () => other.db.all<{ id: number }>("SELECT id FROM notes ORDER BY id"));
    let seen: Promise<readonly { id: number }[]> | undefined;
    other.db.onTold(() => {
      seen = read();
    });
    expect(await read()).toEqual([]);
    await note(one.db, 1);
    await vi.waitFor(() => expect(seen).toBeDefined(), soon);
    expect(await seen).toEqual([{ id: 1 }]);
    await vi.waitFor(() => expect(other.heard).toHaveBeenCalledTimes(2), soon);
    expect(one.heard).toHaveBeenCalledTimes(1);
  });

  test("a burst of changes is heard a few times, also its last one", async () => {
    await using one = await listening();
    await using other = await listening();
    const began = performance.now();
    for (let id = 1_000; id < 1_050; id += 1) await note(one.db, id);
    const calls = other.heard.mock.calls.length;
    await note(one.db, 1_050);
    await vi.waitFor(() => expect(other.heard.mock.calls.length).toBeGreaterThan(calls), soon);
    const most = Math.ceil((performance.now() - began) / 100) + 2;
    expect(other.heard.mock.calls.length).toBeLessThanOrEqual(most);
  });

  test("requested changes, states of services and leases are told once each; batches and states of pipes are not", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-told-"));
    const database = await databaseUrl(server, "writes");
    const stores = await openStoresOf({ dataDir, secretKey, database, role: "server" });
    const serviceId = await newService(stores);
    const pipeId = await newPipe(stores, serviceId);
    await stores.leases.claim("pipe", [pipeId]);
    await stores.leases.claim("service", [serviceId]);
    await using listener = await server.client({ database: new URL(database).pathname.slice(1) });
    const heard = vi.fn();
    listener.on("notification", heard);
    await listener.query("LISTEN millrace");
    const { pipes, services, ledger, leases } = stores;
    const intent = { batchId: "b", lane: "l", intent: {} };
    await ledger.begin(pipeId, intent);
    await ledger.note(pipeId, { m: 1 }, { errors: 1 });
    await ledger.confirm(pipeId, { batchId: "b", lane: "l", checkpoint: 1, marks: {}, counts: { sentRows: 1 } });
    await pipes.setState(pipeId, "Running", null, 1);
    await leases.claim("pipe", [pipeId]);
    await stores.renew();
    await leases.leave();
    const told: readonly (() => Promise<unknown>)[] = [
      () => pipes.change(pipeId, { desiredState: "stopped" }),
      () => services.setDesired(serviceId, "running"),
      () => services.requestWake(serviceId),
      () => services.setState(serviceId, "idle", null),
      () => services.change(serviceId, { name: "other" }),
      () => leases.join(),
      () => Promise.all([leases.release("pipe", [pipeId]), leases.release("service", [serviceId])]),
    ];
    for (const [at, tell] of told.entries()) {
      await tell();
      await vi.waitFor(() => expect(heard.mock.calls.length, String(tell)).toBeGreaterThanOrEqual(at + 1), soon);
      expect(heard.mock.calls.length, String(tell)).toBe(at + 1);
    }
    await stores.close();
    rmSync(dataDir, { recursive: true });
  });

  test("a lost connection is made again, is told of once, and what is missed meanwhile is looked for", async () => {
    const lost = vi.fn();
    await using one = await listening();
    await using other = await listening(lost);
    for (const name of ["ended by the server", "after a crash of the server"]) {
      const calls = other.heard.mock.calls.length;
      if (name === "ended by the server") await one.db.all(`SELECT pg_terminate_backend(pid) FROM (${listeners}) AS l`);
      else {
        await server.crash();
        await server.start();
      }
      // Without any change of others: some may have been missed.
      await vi.waitFor(() => expect(other.heard.mock.calls.length, name).toBeGreaterThan(calls), soon);
      const connected = other.heard.mock.calls.length;
      await vi.waitFor(() => one.db.run("DELETE FROM notes"), soon);
      await note(one.db, 7);
      await vi.waitFor(() => expect(other.heard.mock.calls.length, name).toBeGreaterThan(connected), soon);
    }
    expect(lost).toHaveBeenCalled();
    expect(lost.mock.calls.every(([error]) => !String(error).includes(server.password))).toBe(true);
  });

  test("a database that is closed without a server, or while it connects, ends", async () => {
    const db = await openPostgres(url);
    db.onTold(() => {});
    await db.close();
    const { db: away } = await listening();
    await server.crash();
    await away.close();
    await server.start();
  });
});
