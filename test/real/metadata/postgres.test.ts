/** The whole server with its metadata on Postgres: a service, a pipe and a backup, through kills of both. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backUp, restored } from "../../../harness/backups.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, details, pipeBody, rows, untilRows } from "../../../harness/pipes.ts";
import { sharedEnvironment } from "../../../harness/planes/shared-database.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";

const missing = postgresMissing(18);

describe.skipIf(missing !== undefined)(`a server with metadata on Postgres${missing ? `: ${missing}` : ""}`, () => {
  let postgres: TestPostgres;
  let store: TestStore;
  let served: Served;
  let service: BenchService;
  let pipeId: string;

  beforeAll(async () => {
    [postgres, store] = await Promise.all([TestPostgres.start({ version: 18 }), startFauxqs()]);
    const database = await databaseUrl(postgres, "served");
    served = await serve({ env: sharedEnvironment(database) });
    service = await runningService(served, { idleScaling: false });
    await store.put("in/0.json", rows(0, 100));
    const source = { isContinuous: true };
    const body = { settings: { object_storage_polling_interval_ms: 100 } };
    pipeId = await createPipe(served, service, pipeBody(store, "in/*.json", "events", { source, body }));
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
  });

  test("nothing of the metadata is in the data directory", () => {
    expect(readdirSync(served.dataDir).filter((name) => /\.db|secret\.key/.test(name))).toEqual([]);
  });

  test("killed at any time, the server and its pipe continue, and every row arrives once", async () => {
    await untilRows(served, service, "events", 100);
    for (let file = 1; file <= 3; file += 1) {
      await store.put(`in/${file}.json`, rows(file * 100, (file + 1) * 100));
      served = await served.restartAfterKill();
      await until("running", async () => (await served.api.getService({ params: service.params })).state === "running");
    }
    await untilRows(served, service, "events", 400);
    expect(await query(service, "SELECT uniqExact(id) FROM events")).toBe("400");
  });

  test("while Postgres is away requests are answered with 503 and Retry-After; then all goes on, exactly once", async () => {
    await postgres.crash();
    const { organizationId, keyId, keySecret } = served.credentials;
    const { baseUrl } = served.credentials;
    const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
    const list = () => fetch(`${baseUrl}/v1/organizations/${organizationId}/services`, { headers: { authorization } });
    await until("refused", async () => (await list()).status === 503);
    const refused = await list();
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await refused.text()).not.toContain(encodeURIComponent(postgres.password));
    await store.put("in/9.json", rows(900, 1_000));
    await postgres.start();
    await until("answered", async () => (await list()).status === 200);
    await untilRows(served, service, "events", 500);
    expect(await query(service, "SELECT uniqExact(id) FROM events")).toBe("500");
    expect((await details(served, service, pipeId)).state).toBe("Running");
  });

  test("a backup is made, and restored into a new service", async () => {
    const backup = await backUp(served, service);
    const copy = await restored(served, backup.id);
    expect(await query(copy, "SELECT count(), uniqExact(id) FROM events")).toBe("500\t500");
  });
});
