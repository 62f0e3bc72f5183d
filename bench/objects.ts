/** Shared by the object storage benchmarks: a real S3 server, a service, files, a pipe's time and the engine's own. */
import { setTimeout as delay } from "node:timers/promises";
import { accessKey, startVersitygw, type TestStore } from "../harness/objects/pipe-stores.ts";
import { versitygwMissing } from "../harness/objects/versitygw.ts";
import { columns, createPipe, details, type PipeBody, pipeBody } from "../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../harness/serve.ts";

export type ObjectsBench = AsyncDisposable & {
  readonly store: TestStore;
  readonly served: Served;
  readonly service: BenchService;
};

export async function startObjectsBench(): Promise<ObjectsBench> {
  if (versitygwMissing !== undefined) throw new Error(versitygwMissing);
  const store = await startVersitygw();
  const served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served, { idleScaling: false });
  return {
    store,
    served,
    service,
    [Symbol.asyncDispose]: async () => {
      await served[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The engine's table function for a pattern of the bench's bucket. */
export function s3Function(store: TestStore, pattern: string, format: string): string {
  const secret = accessKey.secretKey.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `s3('${store.url(pattern)}', '${accessKey.accessKeyId}', '${secret}', '${format}')`;
}

/** Writes `files` files of `rowsPerFile` rows each with the engine itself. */
export async function writeFiles(
  bench: ObjectsBench,
  format: string,
  suffix: string,
  files: number,
  rowsPerFile: number,
) {
  for (let file = 0; file < files; file += 1) {
    const target = s3Function(bench.store, `data/${String(file).padStart(3, "0")}.${suffix}`, format);
    const from = file * rowsPerFile;
    await query(
      bench.service,
      `INSERT INTO FUNCTION ${target} SELECT number AS id, concat('name ', toString(cityHash64(number) % 1000000)) AS name FROM numbers(${from}, ${rowsPerFile})`,
    );
  }
}

/** Seconds from the response to `create` until the one-shot pipe is Completed. */
export async function timePipe(
  bench: ObjectsBench,
  pattern: string,
  table: string,
  body: object = {},
): Promise<number> {
  const request = pipeBody(bench.store, pattern, table, { body }) as PipeBody;
  const id = await createPipe(bench.served, bench.service, request);
  const started = performance.now();
  for (;;) {
    const pipe = await details(bench.served, bench.service, id);
    if (pipe.state === "Completed") return (performance.now() - started) / 1000;
    if (pipe.state === "Failed") throw new Error(pipe.lastError);
    await delay(20);
  }
}

/** Seconds of the engine's own `INSERT ... SELECT FROM s3(...)` on the same files into the same kind of table. */
export async function timeEngine(bench: ObjectsBench, pattern: string, format: string, table: string): Promise<number> {
  const list = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  await query(bench.service, `CREATE TABLE ${table} (${list}) ENGINE = MergeTree ORDER BY id`);
  const source = s3Function(bench.store, pattern, format).replace(/\)$/, `, '${list}')`);
  const started = performance.now();
  await query(bench.service, `INSERT INTO ${table} SELECT id, name FROM ${source}`);
  return (performance.now() - started) / 1000;
}

export async function expectRows(bench: ObjectsBench, table: string, rows: number): Promise<void> {
  const seen = await query(bench.service, `SELECT count(), uniqExact(id) FROM ${table}`);
  if (seen !== `${rows}\t${rows}`) throw new Error(`${table} has ${seen} instead of ${rows}`);
  await query(bench.service, `DROP TABLE ${table} SYNC`);
}
