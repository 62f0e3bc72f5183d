/**
 * A mixed workload on a source while everything around it is killed: the pipe's worker, the engine, the control plane,
 * the connections and the source itself. In the end every table is what the source has, row by row.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { details, untilState } from "../support/pipes.ts";
import { type PostgresVersion, postgresMissing, postgresVersions, TestPostgres } from "../support/postgres.ts";
import { cdcPipe, untilEqual } from "../support/postgres-pipes.ts";
import { type BenchService, runningService, type Served, serve } from "../support/serve.ts";

/** Numbers that look random and are the same in every run. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const columns = {
  source: "id::text, part::text, coalesce(note, 'null'), coalesce(md5(body), 'null'), amount::text, at::text",
  destination: `toString(id), toString(part), ifNull(note, 'null'), ifNull(lower(hex(MD5(body))), 'null'),
    toString(toDecimalString(amount, 2)), replaceRegexpOne(toString(at), '\\\\.?0*$', '')`,
};

for (const version of postgresVersions) {
  const missing = postgresMissing(version);
  if (missing !== undefined) console.warn(`Postgres ${version} pipes under faults: skipped, ${missing}`);
  describe.skipIf(missing !== undefined)(`Postgres ${version} pipes under faults`, () => faults(version));
}

function faults(version: PostgresVersion): void {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([
      serve(),
      TestPostgres.start({ version, settings: { fsync: "on", synchronous_commit: "on" } }),
    ]);
    service = await runningService(served);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  test("kills during copy and stream leave every table as its source", { timeout: 180_000 }, async () => {
    const roll = dice(7 + version);
    for (const table of ["one", "two"]) {
      await source.sql(`CREATE TABLE ${table} (id int, part int, note text, body text, amount numeric(12,2) NOT NULL,
        at timestamp NOT NULL, PRIMARY KEY (id, part));
        ALTER TABLE ${table} ALTER body SET STORAGE EXTERNAL;
        INSERT INTO ${table} SELECT i, 0, 'n' || i, repeat('body' || i, 20 + (i % 50) * 20), i, '2026-01-01'::timestamp
          + i * interval '1 minute' FROM generate_series(1, 20000) i; ANALYZE ${table}`);
    }
    const pipeId = await cdcPipe(served, service, source, ["one", "two"], {
      settings: { snapshotNumRowsPerPartition: 1000, pullBatchSize: 2000 },
    });
    const workload = new Workload(source, roll);
    const running = workload.run();
    for (let kill = 0; kill < 10; kill += 1) {
      await delay(300 + roll() * 900);
      const what = ["worker", "worker", "engine", "control", "source", "connections"][Math.floor(roll() * 6)];
      if (what === "worker") endOne(join(served.dataDir, "pipes"), roll);
      if (what === "engine") endOne(join(served.dataDir, "services"), roll, /engine\.pid$/);
      if (what === "control") served = await served.restartAfterKill();
      if (what === "source") {
        await source.crash();
        await source.start();
      }
      if (what === "connections") {
        await source.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace'`);
      }
    }
    workload.stop();
    await running;
    for (const table of ["one", "two"]) {
      await untilEqual(source, service, table, columns, 60_000).catch(async (error: Error) => {
        const { state, lastError, progress } = await details(served, service, pipeId);
        throw new Error(`${error.message}; pipe ${state} ${lastError} ${JSON.stringify(progress)}`);
      });
    }
    await untilState(served, service, pipeId, "Running");
  });
}

/** kill -9 of a process whose pid file is below the folder. */
function endOne(folder: string, roll: () => number, pattern = /./): void {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".pid") && pattern.test(file),
  );
  if (files.length === 0) return;
  const pid = Number.parseInt(
    readFileSync(join(folder, files[Math.floor(roll() * files.length)] as string), "utf8"),
    10,
  );
  try {
    if (pid > 0) process.kill(pid, "SIGKILL");
  } catch {
    // It had ended by itself.
  }
}

class Workload {
  readonly #source: TestPostgres;
  readonly #roll: () => number;
  #isStopped = false;
  #next = 100_000;

  constructor(source: TestPostgres, roll: () => number) {
    this.#source = source;
    this.#roll = roll;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      // The source may be down: a statement that fails has changed nothing.
      await this.#source.sql(this.#statement()).catch(() => {});
      await delay(5);
    }
  }

  #statement(): string {
    const roll = this.#roll;
    const table = roll() < 0.5 ? "one" : "two";
    const from = Math.floor(roll() * 20_000);
    const some = `id BETWEEN ${from} AND ${from + Math.floor(roll() * 40)}`;
    this.#next += 10;
    const next = this.#next;
    const kinds = [
      `INSERT INTO ${table} SELECT i, 1, NULL, repeat('new', 900), 1.5, '2026-02-02' FROM generate_series(${next}, ${next + 9}) i`,
      `UPDATE ${table} SET note = 'note ${next}' WHERE ${some}`,
      `UPDATE ${table} SET body = repeat('x${next}', 300) WHERE ${some}`,
      `UPDATE ${table} SET part = part + 1 WHERE ${some}`,
      `UPDATE ${table} SET id = id + ${next * 10}, note = 'moved' WHERE ${some}`,
      `DELETE FROM ${table} WHERE ${some}`,
      `BEGIN; UPDATE ${table} SET amount = amount + 1 WHERE ${some}; DELETE FROM ${table} WHERE id = ${from};
       INSERT INTO ${table} VALUES (${from}, 9, 'again', NULL, 2, '2026-03-03') ON CONFLICT DO NOTHING; COMMIT`,
      `BEGIN; UPDATE ${table} SET note = 'lost' WHERE ${some}; ROLLBACK`,
    ];
    return kinds[Math.floor(roll() * kinds.length)] as string;
  }
}
