/**
 * A Postgres worker's memory while it copies and follows rows that are far larger than it, and while the engine hangs.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPipe, details, untilState } from "../../../harness/pipes.ts";
import { cdcBody, untilEqual } from "../../../harness/postgres/pipes.ts";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";

const missing = postgresMissing(18) ?? (process.platform === "linux" ? undefined : "memory is read from /proc");
if (missing !== undefined) console.log(`skipped: ${missing}`);

/** Bytes of each row: a single repeated letter, which takes a hundredth at the source. */
const rowBytes = 20_000;
const rows = 20_000;
/** An idle worker has about 130. */
const mostMegabytes = 400;

describe.skipIf(missing !== undefined)("the memory of a worker with half a GB", () => {
  let served: Served;
  let service: BenchService;
  let source: TestPostgres;

  beforeAll(async () => {
    [served, source] = await Promise.all([serve(), TestPostgres.start()]);
    service = await runningService(served, { idleScaling: false });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await source?.[Symbol.asyncDispose]();
  });

  const pidOf = (...path: string[]) =>
    (JSON.parse(readFileSync(join(served.dataDir, ...path), "utf8")) as { pid: number }).pid;
  const residentMb = (pid: number, member: "VmHWM" | "VmRSS") =>
    Number(new RegExp(`${member}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

  /** Sizes are cheap to compare repeatedly; the texts are compared only once. */
  const untilSame = async () => {
    await untilEqual(source, service, "wide", { source: "id, octet_length(text)", destination: "id, length(text)" });
    await untilEqual(source, service, "wide", { source: "id, md5(text)", destination: "id, lower(hex(MD5(text)))" });
  };

  test("is bounded however large the text of a range is, also while the engine hangs", async () => {
    await source.sql(`CREATE TABLE wide (id int PRIMARY KEY, text text);
      INSERT INTO wide SELECT i, repeat(chr(97 + i % 26), ${rowBytes}) FROM generate_series(1, ${rows}) i; ANALYZE wide`);
    const id = await createPipe(served, service, { ...cdcBody(source, ["wide"]), scaling: { replicaMemoryGb: 0.5 } });
    const loaded = async () => Number(await query(service, "SELECT count() FROM wide").catch(() => 0));
    await until("the first rows are there", async () => (await loaded()) > 0);
    const worker = pidOf("pipes", `${id}.pid`);
    const engine = pidOf("services", service.id, "engine.pid");
    process.kill(engine, "SIGSTOP");
    const samples: number[] = [];
    try {
      const begun = Date.now();
      await until("five seconds of a hanging engine", async () => {
        samples.push(residentMb(worker, "VmRSS"));
        return Date.now() - begun > 5_000;
      });
    } finally {
      process.kill(engine, "SIGCONT");
    }
    const late = samples.slice(Math.floor(samples.length / 2));
    expect(Math.max(...late) - Math.min(...late)).toBeLessThan(50);
    await untilState(served, service, id, "Running");
    await untilSame();
    // No range was copied twice: the hanging engine only caused a delay.
    expect(await query(service, "SELECT count() FROM wide")).toBe(`${rows}`);
    const copied = residentMb(worker, "VmHWM");

    await source.sql("UPDATE wide SET text = text || '.'");
    await untilSame();
    expect((await details(served, service, id)).state).toBe("Running");
    expect(pidOf("pipes", `${id}.pid`), "it is still the same worker").toBe(worker);
    const followed = residentMb(worker, "VmHWM");
    console.info(`the worker had ${Math.round(copied)} MB at most in the copy, ${Math.round(followed)} MB in the end`);
    expect(copied).toBeGreaterThan(50);
    expect(copied).toBeLessThan(mostMegabytes);
    expect(followed).toBeLessThan(mostMegabytes);
  });
});
