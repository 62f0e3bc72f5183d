/** `millrace move-store`, killed at random points in both directions: SEED chooses them. */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { killChild } from "../../../harness/kill.ts";
import { newPipe } from "../../../harness/new-pipe.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { Dice } from "../../../harness/random.ts";
import { databaseUrl } from "../../../harness/stores.ts";
import { proofOf, storedTables, type TableProof } from "../../../src/store/database/copy-tables.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { moveMetadata } from "../../../src/store/database/move-metadata.ts";
import { openStoresOf } from "../../../src/store/open.ts";
import { openPostgres } from "../../../src/store/postgres/postgres-database.ts";

const missing = postgresMissing(18);
const secretKey = Buffer.alloc(32, 7).toString("base64");
const main = join(import.meta.dirname, "../../../src/main.ts");
const seed = Number(process.env.SEED ?? 20_261_122);
const marks = 3_000;

describe.skipIf(missing !== undefined)(`move-store, killed (seed ${seed})${missing ? `: ${missing}` : ""}`, () => {
  let server: TestPostgres;
  let root: string;
  let original: readonly TableProof[];
  const filled = () => join(root, "filled");

  beforeAll(async () => {
    server = await TestPostgres.start({ version: 18 });
    root = mkdtempSync(join(tmpdir(), "millrace-killed-"));
    mkdirSync(filled());
    const stores = await openStoresOf({ dataDir: filled(), secretKey });
    const pipeId = await newPipe(stores);
    const noted = Object.fromEntries(Array.from({ length: marks }, (_, i) => [`o:${i}`, { etag: `${i}` }]));
    await stores.ledger.note(pipeId, noted, { sentRows: 1 });
    await stores.close();
    original = await read(openDatabase(join(filled(), "millrace.db")), proofOf);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(root, { recursive: true });
  });

  const read = async <T>(db: Database, work: (db: Database) => Promise<T>): Promise<T> => {
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  };

  /** Runs the command, and kills it when it has printed so many lines. */
  async function killMove(dataDir: string, words: readonly string[], lines: number): Promise<void> {
    const args = [main, "move-store", "--data-dir", dataDir, ...words];
    const env = { ...process.env, MILLRACE_SECRET_KEY: secretKey };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    let said = 0;
    for await (const _ of createInterface({ input: child.stdout })) {
      said += 1;
      if (said === lines) await killChild(child);
    }
    expect(said).toBeGreaterThanOrEqual(lines);
  }

  /** Runs it to its end; returns where it says that the rows are now. */
  async function move(dataDir: string, to: string, database?: string): Promise<string> {
    const said: string[] = [];
    const tell = (line: string) => void said.push(line);
    await moveMetadata({ dataDir, secretKey, database, to, tell, dryRun: false, allowsAsyncReplication: false });
    return said.find((line) => line.startsWith("Moved to ")) ?? "";
  }

  /** A side of the move: its rows, and whether they have been moved away from it. */
  async function look(db: Database) {
    const moved = "SELECT value FROM store_facts WHERE name = 'moved_to'";
    return await read(db, async () => ({
      proof: await proofOf(db),
      isMarked: (await db.get(moved)) !== undefined,
    }));
  }

  /** The lease of a killed command ends after 15 seconds, for which nobody waits here. */
  async function endLease(url: string): Promise<void> {
    await read(await openPostgres(url), async (db) => {
      await db.run("UPDATE leases SET expires_at = 0");
      await db.run("UPDATE nodes SET expires_at = 0");
    });
  }

  async function expectStarts(dataDir: string, database: string | undefined, isRefused: boolean): Promise<void> {
    const opening = openStoresOf({ dataDir, secretKey, database });
    if (isRefused) await expect(opening).rejects.toThrow("the metadata has been moved to");
    else await (await opening).close();
  }

  /** What a server finds, however far the command has come. */
  async function expectWhole(dataDir: string, url: string, isHome: boolean): Promise<void> {
    await endLease(url);
    const sides = [
      await look(openDatabase(join(dataDir, "millrace.db"))),
      await look(await openPostgres(url)),
    ] as const;
    const [from, to] = isHome ? [sides[1], sides[0]] : sides;
    expect(from.proof).toEqual(original);
    const isEmpty = to.proof.every(({ rows }) => rows === 0);
    if (!isEmpty || from.isMarked) expect(to.proof).toEqual(original);
    await expectStarts(dataDir, isHome ? url : undefined, from.isMarked);
    if (from.isMarked) await expectStarts(dataDir, isHome ? undefined : url, false);
  }

  const dice = new Dice(seed);
  const points = [
    { when: "while it copies", lines: 1 + dice.below(storedTables.length), back: 1 + dice.below(storedTables.length) },
    { when: "when it has compared", lines: storedTables.length + 1, back: storedTables.length + 1 },
    { when: "at its end", lines: storedTables.length + 2, back: storedTables.length + 2 },
  ];

  test.each(points)("$when: each side is whole, and the next call ends the move", async ({ when, lines, back }) => {
    const dataDir = join(root, when.replaceAll(" ", "-"));
    cpSync(filled(), dataDir, { recursive: true });
    const url = await databaseUrl(server, when);
    await killMove(dataDir, ["--to", url], lines);
    await expectWhole(dataDir, url, false);
    expect(await move(dataDir, url)).toContain("postgres://");
    await endLease(url);
    await expectStarts(dataDir, undefined, true);
    await expectStarts(dataDir, url, false);

    await killMove(dataDir, ["--database", url, "--to", "sqlite"], back);
    await expectWhole(dataDir, url, true);
    expect(await move(dataDir, "sqlite", url)).toContain("SQLite");
    await endLease(url);
    await expectStarts(dataDir, url, true);
    await expectStarts(dataDir, undefined, false);
    expect(await read(openDatabase(join(dataDir, "millrace.db")), proofOf)).toEqual(original);
  });
});
