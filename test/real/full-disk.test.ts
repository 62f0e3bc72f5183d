/** The disk of the data directory is full: what says so, and that everything goes on by itself when it is not. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestStore } from "../../harness/objects/object-store.ts";
import { pushPipe, send } from "../../harness/push/pipes.ts";
import { exportJson, logsOf, nanos, telemetryPipe } from "../../harness/push/telemetry.ts";
import { query, runningService, serve, until } from "../../harness/serve.ts";
import { canMount, fill, smallDisk } from "../../harness/small-disk.ts";

test.skipIf(!canMount)("a full disk is named by pipes and refused changes, and nothing is lost", async () => {
  using disk = smallDisk("400m");
  await using store = await startTestStore();
  await using served = await serve({
    dataDir: join(disk.folder, "data"),
    env: { MILLRACE_MIN_FREE_DISK_GB: "0", MILLRACE_STANDBY_ENGINES: "0" },
    keepData: true,
  });
  const service = await runningService(served);
  await store.put("in/1.json", '{"n":1}\n');
  const pipe = await served.api.createPipe({
    params: service.params,
    body: {
      name: "numbers",
      source: {
        objectStorage: {
          url: `${store.endpoint}/${store.bucket}/in/*.json`,
          format: "JSONEachRow",
          isContinuous: true,
          authentication: "IAM_USER",
          accessKey: store.accessKey,
        },
      },
      destination: { table: "numbers", columns: [{ name: "n", type: "Int64" }] },
    } as never,
  });
  const params = { ...service.params, pipeId: pipe.id };
  await until("the first row is there", async () => {
    const { state, progress } = await served.api.getPipe({ params });
    return state === "Running" && progress.sentRows === 1;
  });
  const to = await pushPipe(served, service, "pushed");
  const otlp = await telemetryPipe(served, service, "otel");
  const log = logsOf([{ timeUnixNano: nanos(1), body: { stringValue: "one" } }]);
  const filler = join(disk.folder, "filler");
  fill(filler);
  await store.put("in/2.json", '{"n":2}\n');
  expect(await query(service, "SELECT sum(n) FROM numbers")).toBe("1");
  const unwaited = "INSERT INTO numbers (n) SETTINGS async_insert = 1, wait_for_async_insert = 0 VALUES (5)";
  await expect(query(service, unwaited)).rejects.toThrow("The rows cannot be kept on disk");
  const pushed = await send(to, '{"id":1}', { headers: { "idempotency-key": "one" } });
  expect([pushed.status, pushed.body.code, pushed.headers.get("retry-after")]).toEqual([507, "DISK_FULL", "5"]);
  expect((await exportJson(otlp, "logs", log)).status).toBe(503);
  const full = "The disk of the data directory is full.";
  const seen = await until("the pipe says so", async () => {
    const { state, lastError = "" } = await served.api.getPipe({ params });
    return state === "Degraded" && lastError.includes(full) ? lastError : undefined;
  });
  expect(seen).toContain(full);
  const { organizationId } = service.params;
  const listed = await served.api.listAllPipes({ params: { organizationId }, query: {} as never });
  expect(listed.pipes[0]).toMatchObject({ state: "Degraded" });
  const refused = await served.api
    .createKey({ params: { organizationId }, body: { name: "k", roles: ["developer"] } as never })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 507, message: expect.stringContaining(full) });
  const { loops } = await served.api.getSystem({ params: {} });
  expect(loops.map(({ lastError }) => lastError ?? "").join(" ")).not.toContain("rollback");
  rmSync(filler);
  const again = await send(to, '{"id":1}', { headers: { "idempotency-key": "one" }, query: "?wait=true" });
  expect([again.status, again.body.result?.repeated]).toEqual([200, undefined]);
  expect(await query(service, "SELECT count() FROM pushed")).toBe("1");
  expect((await exportJson(otlp, "logs", log)).status).toBe(200);
  await until("the log is there", async () => (await query(service, "SELECT count() FROM otel.otel_logs")) === "1");
  await until("the rows are there", async () => (await query(service, "SELECT sum(n) FROM numbers")) === "3");
  await until("the pipe runs", async () => (await served.api.getPipe({ params })).state === "Running");
});
