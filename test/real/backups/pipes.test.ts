/** Positions of pipes in backups: a restored service's pipes continue without gaps or duplicates. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backUp, restored } from "../../../harness/backups.ts";
import { startTestStore, type TestStore } from "../../../harness/objects/object-store.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

let served: Served;
let service: BenchService;
let store: TestStore;

beforeAll(async () => {
  [served, store] = await Promise.all([serve(), startTestStore()]);
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const rowsPerFile = 50;
const jsonRows = (file: number) =>
  Array.from({ length: rowsPerFile }, (_, i) => JSON.stringify({ id: file * rowsPerFile + i })).join("\n");
const put = (folder: string, file: number) =>
  store.put(`${folder}/${String(file).padStart(6, "0")}.json`, jsonRows(file));
const counts = (of: BenchService, table: string) => query(of, `SELECT count(), uniqExact(id) FROM ${table}`);

async function createPipe(table: string, source: object = {}): Promise<string> {
  const { id } = await served.api.createPipe({
    params: service.params,
    body: {
      name: table,
      source: {
        objectStorage: {
          url: `${store.endpoint}/${store.bucket}/${table}/*.json`,
          authentication: "IAM_USER",
          accessKey: store.accessKey,
          isContinuous: true,
          ...source,
        },
      },
      destination: { table, columns: [{ name: "id", type: "UInt64" }] },
      settings: { object_storage_polling_interval_ms: 100, object_storage_max_file_count: 1 },
    },
  });
  return id;
}

describe("a pipe that inserts while backups are made", () => {
  test("every backup restores to a service whose pipe ends with exactly the rows of the source", async () => {
    const files = 120;
    for (let file = 0; file < 20; file += 1) await put("flow", file);
    const pipeId = await createPipe("flow");
    await until("rows arrive", async () => Number((await counts(service, "flow").catch(() => "0")).split("\t")[0]) > 0);
    const feeding = (async () => {
      for (let file = 20; file < files; file += 1) await put("flow", file);
    })();
    const backups: string[] = [];
    const seen = new Set<string>();
    while (backups.length < 3) {
      const backup = await backUp(served, service);
      expect(backup).toMatchObject({ status: "done", verification: "passed" });
      backups.push(backup.id);
      seen.add(await counts(service, "flow"));
    }
    await feeding;
    const all = `${files * rowsPerFile}\t${files * rowsPerFile}`;
    await until("the original has everything", async () => (await counts(service, "flow")) === all);
    // The load continued between the backups: otherwise this test would prove nothing.
    expect(seen.size).toBeGreaterThan(1);
    for (const backupId of backups) {
      const copy = await restored(served, backupId, { restorePipes: "running" });
      const pipes = await served.api.listPipes({ params: copy.params });
      expect(pipes.map((pipe) => pipe.name)).toEqual(["flow"]);
      expect(pipes[0]?.id).not.toBe(pipeId);
      await until(
        "the copy has everything",
        async () => (await counts(copy, "flow")).split("\t")[1] === all.split("\t")[1],
      );
      expect(await counts(copy, "flow")).toBe(all);
      // It follows the source from now on, like the original.
      await served.api.updateServiceState({ params: copy.params, body: { command: "stop" } });
    }
  });

  test("pipes come back stopped unless asked otherwise, and say what they did before", async () => {
    const backup = await backUp(served, service);
    const copy = await restored(served, backup.id);
    const [pipe] = await served.api.listPipes({ params: copy.params });
    expect(pipe).toMatchObject({ name: "flow", state: "Stopped" });
    const [restore] = await served.api.listRestores({ params: copy.params });
    expect(restore?.notes).toEqual(["Pipe flow can be started from its position in the backup."]);
    const without = await restored(served, backup.id, { restorePipes: "none" });
    expect(await served.api.listPipes({ params: without.params })).toEqual([]);
  });
});
