/** The metadata from SQLite to Postgres and back. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newPipe } from "../../../harness/new-pipe.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { openStoresOf } from "../open.ts";
import { openPostgres } from "../postgres/postgres-database.ts";
import { proofOf } from "./copy-tables.ts";
import { type Database, openDatabase } from "./database.ts";
import { moveStore } from "./move-store.ts";

const missing = postgresMissing(18);
const secretKey = Buffer.alloc(32, 7).toString("base64");

describe.skipIf(missing !== undefined)(`moving the metadata${missing ? `: ${missing}` : ""}`, () => {
  let server: TestPostgres;
  let dirs: string[];
  beforeAll(async () => {
    server = await TestPostgres.start({ version: 18 });
    dirs = ["a", "b", "c"].map((name) => mkdtempSync(join(tmpdir(), `millrace-move-${name}`)));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    for (const dir of dirs) rmSync(dir, { recursive: true });
  });

  const file = (dir: string) => join(dir, "millrace.db");
  const move = async (from: Database, to: Database, dryRun = false) => {
    const lines: string[] = [];
    await moveStore({ from, to, place: "there", dryRun, tell: (line) => lines.push(line) });
    return lines;
  };
  async function filled(dir: string): Promise<void> {
    const stores = await openStoresOf({ dataDir: dir, secretKey });
    const pipeId = await newPipe(stores);
    await stores.pipes.setState(pipeId, "Running", null, 1);
    for (const batchId of ["b", "a"]) await stores.ledger.begin(pipeId, { batchId, lane: "l", intent: {} });
    await stores.ledger.note(pipeId, { "o:é": { n: 1 } }, { sentRows: 2 ** 45 });
    await stores.close();
  }

  test("all rows arrive, the old server refuses to start, the new one goes on, and the way back works", async () => {
    const [dir, other, back] = dirs as [string, string, string];
    await filled(dir);
    const url = await databaseUrl(server, "moved");
    const [from, to] = [openDatabase(file(dir)), await openPostgres(url)];
    const before = await proofOf(from);
    expect((await move(from, to, true)).at(-1)).toBe("Dry run: nothing was changed.");
    expect((await proofOf(to)).every(({ rows }) => rows === 0)).toBe(true);
    expect(await move(from, to)).toContainEqual(expect.stringMatching(/rows of \d+ tables are equal on both sides/));
    expect(await proofOf(to)).toEqual(before);
    // Killed before the source was marked: the same call ends it.
    await from.run("DELETE FROM store_facts");
    expect((await move(from, to))[0]).toBe("The target has all rows already.");
    await from.close();
    await expect(openStoresOf({ dataDir: dir, secretKey })).rejects.toThrow("has been moved to there");
    const stores = await openStoresOf({ dataDir: other, secretKey, database: url });
    const [pipe] = await stores.pipes.listAll();
    expect((await stores.ledger.intents(pipe?.id ?? "")).map(({ batchId }) => batchId)).toEqual(["b", "a"]);
    await stores.pipes.setState(pipe?.id ?? "", "Stopped", null, 1);
    await stores.close();
    const home = openDatabase(file(back));
    await move(to, home);
    expect(await proofOf(home)).toEqual(await proofOf(to));
    await Promise.all([home.close(), to.close()]);
    await (await openStoresOf({ dataDir: back, secretKey })).close();
    await expect(openStoresOf({ dataDir: other, secretKey, database: url })).rejects.toThrow("has been moved to there");
  });

  test("a target with other rows is refused, and nothing changes", async () => {
    const dir = mkdtempSync(join(tmpdir(), "millrace-move-d"));
    dirs.push(dir);
    await filled(dir);
    const [from, to] = [openDatabase(file(dir)), await openPostgres(await databaseUrl(server, "full"))];
    await to.run("INSERT INTO organizations (id, name, created_at) VALUES ('x', 'x', '')");
    await expect(move(from, to)).rejects.toThrow("the target has rows already");
    await Promise.all([from.close(), to.close()]);
    await (await openStoresOf({ dataDir: dir, secretKey })).close();
  });

  test("a copy that fails in the middle leaves the target empty and the source as it was", async () => {
    const dir = mkdtempSync(join(tmpdir(), "millrace-move-e"));
    dirs.push(dir);
    await filled(dir);
    const [from, to] = [openDatabase(file(dir)), await openPostgres(await databaseUrl(server, "broken"))];
    const failing: Database = {
      ...from,
      all: (sql, ...params) =>
        sql.includes("FROM activities") ? Promise.reject(new Error("the disk broke")) : from.all(sql, ...params),
    };
    await expect(move(failing, to)).rejects.toThrow("the disk broke");
    expect((await proofOf(to)).every(({ rows }) => rows === 0)).toBe(true);
    expect((await move(from, to)).at(-1)).toMatch(/^Moved to there/);
    await Promise.all([from.close(), to.close()]);
  });
});
