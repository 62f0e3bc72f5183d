/**
 * Whatever is killed at any moment, every table equals its source in the end: the short form of `npm run soak --
 * postgres`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { FaultInjector } from "../../../harness/postgres/fault-injector.ts";
import { cdcPipe } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { Workload } from "../../../harness/postgres/workload.ts";
import { Dice } from "../../../harness/random.ts";
import { runningService, serve } from "../../../harness/serve.ts";

const version = 18;
const missing = postgresMissing(version);
if (missing !== undefined) console.log(`skipped: ${missing}`);

/** During the copy, and while the stream is followed. */
const harms = [
  "worker",
  "source",
  "resync",
  "engine",
  "worker",
  "pipe",
  "control",
  "resync",
  "source",
  "service",
] as const;

describe.skipIf(missing !== undefined)("a Postgres pipe under kills", () => {
  test("ends with every table equal to its source", async () => {
    const seed = 20_261_100 + version;
    await using source = await TestPostgres.start({ version });
    await using workload = new Workload(source, { seed, bigRows: 4_000 });
    await workload.create();
    const served = await serve({ env: { MILLRACE_LOG_LEVEL: "error" } });
    const service = await runningService(served, { idleScaling: false });
    workload.start();
    const settings = { snapshotNumRowsPerPartition: 1_000, pullBatchSize: 2_000 };
    const pipeId = await cdcPipe(served, service, source, workload.tables, { settings });
    const injector = new FaultInjector({ served, service, source, pipeId, dice: new Dice(seed) });
    try {
      for (const harm of harms) {
        await delay(injector.dice.below(1_000));
        await injector.inject(harm);
      }
      await workload.stop();
      const compared = await injector.settle(workload.tables, 60_000);
      expect(Object.keys(compared)).toEqual(workload.tables);
      expect(workload.transactions).toBeGreaterThan(50);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    } finally {
      await injector.served[Symbol.asyncDispose]();
    }
  });
});
