/** The plan of a restore is what the restore then does. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backUp, restored } from "../../../harness/backups.ts";
import { runInside } from "../../../harness/cli.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore & { readonly sqsEndpoint: string };
let backupId: string;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startFauxqs()]);
  service = await runningService(served, { idleScaling: false });
  await store.put("files/1.json", rows(0, 10));
  const pipeId = await createPipe(served, service, pipeBody(store, "files/*.json", "files"));
  await untilState(served, service, pipeId, "Completed");
  await query(service, "CREATE DATABASE other");
  await query(service, "CREATE TABLE other.numbers (n UInt64) ORDER BY n");
  await query(service, "INSERT INTO other.numbers SELECT number FROM numbers(7)");
  backupId = (await backUp(served, service)).id;
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

const params = () => ({ ...service.params, backupId });
const done = async (restoreId: string) =>
  await until("the restore ends", async () => {
    const restore = await served.api.getRestore({ params: { ...service.params, restoreId } });
    return restore.status === "done" || restore.status === "error" ? restore : undefined;
  });

describe("the plan of a restore", () => {
  test("of a database names its tables, and the pipes that it does not touch", async () => {
    const body = { database: "other", targetDatabase: "again" };
    const plan = await served.api.planRestore({ params: params(), body });
    expect(plan).toMatchObject({ problems: [], targetChecked: true, users: { effect: "unaffected" } });
    expect(plan.tables).toEqual([
      { database: "other", table: "numbers", rows: 7, targetDatabase: "again", targetTable: "numbers" },
    ]);
    const before = await served.api.listPipes({ params: service.params });
    expect(plan.pipes.map(({ pipeId, effect }) => [pipeId, effect])).toEqual(
      before.map(({ id }) => [id, "unaffected"]),
    );
    expect(await query(service, "EXISTS DATABASE again")).toBe("0");
    expect(await served.api.listRestores({ params: service.params })).toEqual([]);

    expect((await done((await served.api.restoreBackup({ params: params(), body })).id)).status).toBe("done");
    for (const { targetDatabase, targetTable, rows: count } of plan.tables) {
      expect(await query(service, `SELECT count() FROM ${targetDatabase}.${targetTable}`)).toBe(String(count));
    }
    expect(await served.api.listPipes({ params: service.params })).toEqual(before);
  });

  test("names the problem for which the restore is then refused, with its member", async () => {
    const before = await served.api.listRestores({ params: service.params });
    const body = { database: "other", table: "numbers", targetDatabase: "default", targetTable: "files" };
    const [message] = (await served.api.planRestore({ params: params(), body })).problems;
    const taken = { code: "CONFLICT", issues: [{ path: "targetTable", message }] };
    await expect(served.api.restoreBackup({ params: params(), body })).rejects.toMatchObject(taken);
    for (const absent of [
      { ...body, table: "nothing" },
      { database: "nothing", targetDatabase: "new" },
    ]) {
      const path = "table" in absent ? "table" : "database";
      const refusal = { code: "NOT_FOUND", issues: [{ path, message: expect.stringContaining(`holds no ${path}`) }] };
      await expect(served.api.planRestore({ params: params(), body: absent })).rejects.toMatchObject(refusal);
      await expect(served.api.restoreBackup({ params: params(), body: absent })).rejects.toMatchObject(refusal);
    }
    expect(await served.api.listRestores({ params: service.params })).toEqual(before);
  });

  test("with a problem ends the command before anything is requested", async () => {
    const { baseUrl, keyId, keySecret } = served.credentials;
    const before = await served.api.listRestores({ params: service.params });
    const line = ["backup", "restore", backupId, "--table", "other.numbers", "--to", "default.files", "--yes"];
    const { code, stderr } = await runInside(line, {
      env: { MILLRACE_URL: baseUrl, MILLRACE_KEY: `${keyId}:${keySecret}` },
    });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nothing was restored: The table default.files already exists"),
    });
    expect(await served.api.listRestores({ params: service.params })).toEqual(before);
  });

  test("of a whole service says what becomes of every pipe, in the words of the restore", async () => {
    const plan = await served.api.planRestore({ params: params(), body: { restorePipes: "running" } });
    expect(plan.users.effect).toBe("newDefaultUser");
    const copy = await restored(served, backupId, { restorePipes: "running" });
    const [restore] = await served.api.listRestores({ params: copy.params });
    expect(plan.pipes.map(({ note }) => note)).toEqual(restore?.notes);
    expect(plan.pipes.map(({ name }) => name)).toEqual(
      (await served.api.listPipes({ params: copy.params })).map(({ name }) => name),
    );
    for (const { targetDatabase, targetTable, rows: count } of plan.tables) {
      expect(await query(copy, `SELECT count() FROM ${targetDatabase}.${targetTable}`)).toBe(String(count));
    }
    expect(restore?.progress.totalBytes).toBe(plan.fetchedBytes + plan.restoredBytes);
  });
});
