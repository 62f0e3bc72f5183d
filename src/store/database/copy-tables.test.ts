import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newPipe } from "../../../harness/new-pipe.ts";
import { openTestDatabase, openTestStores } from "../../../harness/stores.ts";
import { copyTables, proofOf, storedTables } from "./copy-tables.ts";
import { openDatabase } from "./database.ts";

const folder = () => mkdtempSync(join(tmpdir(), "millrace-copy-"));
/** They belong to running processes, or to the file itself. */
const left = ["migrations", "nodes", "leases", "pipe_holds", "pipe_reports", "store_facts"];

test("every table is copied, unless it belongs to running processes", async () => {
  const dir = folder();
  const db = openDatabase(join(dir, "m.db"));
  const found = await db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
  const names = found.map(({ name }) => name).filter((name) => !name.startsWith("sqlite_"));
  expect(names.filter((name) => !left.includes(name)).sort()).toEqual(storedTables.map(({ name }) => name).sort());
  await db.close();
  rmSync(dir, { recursive: true });
});

test("a copy has the same rows, and a changed row has another hash", async () => {
  const [dir, other] = [folder(), folder()];
  const stores = await openTestStores(dir);
  const pipeId = await newPipe(stores);
  await stores.pipes.setState(pipeId, "Running", null, 1);
  const marks = Object.fromEntries(Array.from({ length: 1_203 }, (_, i) => [`o:${i % 7}/é ${i}`, { etag: `${i}` }]));
  await stores.ledger.note(pipeId, marks, { sentRows: 2 ** 40 });
  const copy = await openTestDatabase(other);
  const read = await copy.transaction((tx) => copyTables(stores.db, tx));
  expect(read).toEqual(await proofOf(stores.db));
  expect(await proofOf(copy)).toEqual(read);
  expect(read.find(({ table }) => table === "pipe_marks")?.rows).toBe(1_203);
  await copy.run("UPDATE pipe_counters SET value = value + 1");
  const differing = (await proofOf(copy)).filter((proof, i) => proof.sha256 !== read[i]?.sha256);
  expect(differing.map(({ table }) => table)).toEqual(["pipe_counters"]);
  await Promise.all([stores.close(), copy.close()]);
  for (const name of [dir, other]) rmSync(name, { recursive: true });
});
