/** The same telemetry through the collector's ClickHouse exporter and through a pipe: the same tables and rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportedBy, exporterMissing } from "../../../harness/push/exporter.ts";
import { telemetryPipe } from "../../../harness/push/telemetry.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { otlpTables } from "../../../src/sources/push/declaration/description.ts";

const missing = exporterMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const seeds = [1, 2];
const requests = 60;
const folder = mkdtempSync(join(tmpdir(), "otlp-exporter-"));
let served: Served;
let service: BenchService;

beforeAll(async () => {
  served = await serve();
  service = await runningService(served, { idleScaling: false });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const sql = (statement: string) => query(service, statement);

test.skipIf(missing !== undefined).each(seeds)(
  "random telemetry gives equal rows column by column (seed %i)",
  async (seed) => {
    const { endpoints } = await served.api.getService({ params: service.params });
    const nativePort = endpoints.find(({ protocol }) => protocol === "native")?.port as number;
    const theirs = `theirs_${seed}`;
    const ours = `ours_${seed}`;
    const into = mkdtempSync(join(folder, "seed-"));
    const sent = await exportedBy(service, { nativePort, database: theirs, seed, count: requests, into });
    const to = await telemetryPipe(served, service, ours);
    for (const { signal, body } of sent) {
      const headers = { authorization: to.key, "content-type": "application/x-protobuf" };
      const answered = await fetch(`${to.url}/v1/${signal}`, { method: "POST", body: new Uint8Array(body), headers });
      expect([answered.status, await answered.text()]).toEqual([200, ""]);
    }
    await until("everything is loaded", async () => {
      const { progress } = await served.api.getPipe({ params: { ...service.params, pipeId: to.pipeId } });
      return progress.lagMessages === 0;
    });
    for (const table of [...otlpTables, "otel_traces_trace_id_ts"]) {
      const columns = (database: string) =>
        sql(
          `SELECT name, type FROM system.columns WHERE database = '${database}' AND table = '${table}' AND default_kind != 'ALIAS' ORDER BY position FORMAT TSV`,
        );
      expect(await columns(ours), table).toBe(await columns(theirs));
      const count = Number(await sql(`SELECT count() FROM ${theirs}.${table}`));
      expect(count, table).toBeGreaterThan(10);
      // NaN is equal to nothing: rows are compared as text.
      const rows = (database: string) =>
        table === "otel_traces_trace_id_ts"
          ? sql(
              `SELECT TraceId, min(Start), max(End) FROM ${database}.${table} GROUP BY TraceId ORDER BY ALL FORMAT TSV`,
            )
          : sql(`SELECT * FROM ${database}.${table} ORDER BY toString(tuple(*)) FORMAT JSONEachRow`);
      const [own, other] = [(await rows(ours)).split("\n"), (await rows(theirs)).split("\n")];
      const different = own.findIndex((row, at) => row !== other[at]);
      expect([own.length, own[different]], table).toEqual([other.length, other[different]]);
    }
  },
);
