/**
 * A pipe worker: one child process per replica of a running pipe. Reads the source, inserts into the service, keeps its
 * positions in the control plane. Ends by itself when the control plane is gone.
 */
import { childOf } from "../lib/abort.ts";
import { AppError, describeError } from "../lib/errors.ts";
import { sourceKinds } from "../sources/registry.ts";
import type { Connector, SourceContext, SourceKind } from "../sources/source.ts";
import { windowStatements } from "./destination.ts";
import { createRejector } from "./error-table.ts";
import { createInserter } from "./insert.ts";
import type { Job, ToWorker } from "./protocol.ts";
import { runPipe } from "./runner.ts";
import { openWorkerLink } from "./worker-link.ts";

const stopping = new AbortController();
const link = openWorkerLink();

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("SIGINT", () => {});
process.on("SIGTERM", () => stopping.abort(new Error("stopped")));
link.onMessage((message: ToWorker) => {
  if (message.type === "stop") stopping.abort(new Error("stopped"));
  if (message.type === "job") void work(message.job);
});

async function work(job: Job): Promise<void> {
  const scrub = scrubber(job.secretValues);
  try {
    await run(job, scrub);
    if (!stopping.signal.aborted) await link.report({ type: "completed" });
  } catch (error) {
    if (!stopping.signal.aborted) await link.report({ type: "failed", reason: scrub(reasonOf(error)) });
  } finally {
    process.exit(0);
  }
}

async function run(job: Job, scrub: (text: string) => string): Promise<void> {
  const { signal } = stopping;
  using child = childOf(signal);
  const inserter = createInserter({
    signal: child.signal,
    scrub,
    acquire: async () => {
      const { leaseId, socketPath } = await link.call("acquire", undefined as never);
      return { socketPath, release: () => void link.call("release", leaseId) };
    },
    onTrouble: (reason) => void link.report({ type: "trouble", reason: reason ?? null }),
  });
  await link.report({ type: "phase", phase: "Setup" });
  for (const statement of job.setup) await inserter.command(statement);
  const { database, table } = job.destination;
  for (const statement of await windowStatements(database, table, inserter.query)) await inserter.command(statement);
  const context: SourceContext = {
    pipeId: job.pipeId,
    epoch: job.epoch,
    settings: job.settings,
    concurrency: job.concurrency,
    destination: job.destination,
    marks: { get: async (keys) => new Map(Object.entries(await link.call("marks", keys))) },
    report: (gauges) => void link.report({ type: "gauges", gauges }),
    trouble: (reason) => void link.report({ type: "trouble", reason: reason === undefined ? null : scrub(reason) }),
    reject: createRejector(job.destination, inserter, scrub),
    query: inserter.query,
  };
  const kind: SourceKind | undefined = sourceKinds[job.kind as keyof typeof sourceKinds];
  const connector = (await kind?.connect?.()) as Connector<unknown> | undefined;
  if (connector === undefined) throw new AppError("SOURCE_INVALID", `This version cannot run ${job.kind} pipes.`);
  await using source = await connector.open(job.config, context, child.signal);
  await link.report({ type: "phase", phase: "Running" });
  await runPipe({
    source,
    ledger: {
      intents: () => link.call("intents", undefined as never),
      checkpoints: () => link.call("checkpoints", undefined as never),
      begin: (intent) => link.call("begin", intent),
      replace: (change) => link.call("replace", change),
      confirm: (done) => link.call("confirm", done),
    },
    insert: inserter.insert,
    tokenPrefix: `${job.pipeId}:${job.epoch}`,
    concurrency: job.concurrency,
    signal: child.signal,
  });
  inserter.close();
}

function reasonOf(error: unknown): string {
  return error instanceof AppError ? error.message : describeError(error);
}

/** Replaces every secret value by a mark, whatever text it turns up in. */
function scrubber(secretValues: readonly string[]): (text: string) => string {
  const values = secretValues.filter((value) => value.length > 0).sort((a, b) => b.length - a.length);
  return (text) => values.reduce((scrubbed, value) => scrubbed.replaceAll(value, "[redacted]"), text).slice(0, 2000);
}
