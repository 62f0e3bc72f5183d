/**
 * Runs one job from start to end: prepares the destination while the source is opened and read, and runs the batches.
 */
import { createHash } from "node:crypto";
import { allOrAbort, childOf, sleep } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import { Backoff, retry } from "../../lib/backoff.ts";
import { AppError } from "../../lib/errors.ts";
import type { Connector, NetworkContext, Source, SourceContext } from "../../sources/contract/source.ts";
import type { Intent } from "../durable.ts";
import { failureOf, isFinal, sentenceOf } from "../failures.ts";
import { begunMark, type Calls, type Job, type WorkerStatus } from "../protocol.ts";
import { notedCounts } from "./counts.ts";
import type { DestinationWriter } from "./destination.ts";
import type { Health } from "./health.ts";
import { type JobAccess, outcomeOfJob } from "./job-outcome.ts";
import { Runner } from "./runner.ts";
import { concurrencyOf, engineSettings, memoryGbOf, sourceSettings } from "./settings.ts";

export type JobEvents = {
  tell(status: WorkerStatus): void;
  gauges(values: Readonly<Record<string, number>>): void;
};

/** Views may be attached to the destination at any time; their targets must remember tokens too. */
const viewCheckMs = 60_000;

/**
 * While more jobs of the process prepare, as after the start of a server, sources are read afterwards: what hundreds
 * hold at the same time stays in the process.
 */
const mostAhead = 8;
let preparing = 0;

export async function runJob(
  job: Job,
  network: NetworkContext,
  connect: () => Promise<Connector>,
  calls: Calls,
  events: JobEvents,
  signal: AbortSignal,
): Promise<WorkerStatus> {
  return await outcomeOfJob(job, { calls, policy: network.policy }, events.tell, signal, async (parts) => {
    const { health, destination } = parts;
    health.preparing();
    // Where one side fails, the other one may wait for ever.
    using both = childOf(signal);
    preparing += 1;
    const prepared = prepare(job, destination, calls, health, both.signal).finally(() => {
      preparing -= 1;
    });
    const run = async () => {
      const connector = await connect();
      // With tables of its own it opens its source when their database is there.
      if (job.table.kind === "owned" || preparing > mostAhead) await prepared;
      if (both.signal.aborted) return;
      const context = contextOf({ job, network, access: parts, calls, events });
      await using source: Source = await openSource(connector, job, context, health, both.signal);
      if (both.signal.aborted) return;
      if (job.table.kind === "owned") await untilDone(job, health, both.signal, () => destination.rememberTokens());
      const ledger = ledgerOf(calls, prepared, both.signal);
      await runWithViewChecks(job, source, destination, ledger, health, both.signal);
    };
    await allOrAbort([prepared, run()], both.abort);
  });
}

type RunnerLedger = Pick<Calls, "begin" | "replace" | "confirm" | "intents" | "checkpoints">;

/** A source reads ahead while the destination is prepared; no batch begins before that is done. */
function ledgerOf(calls: Calls, prepared: Promise<unknown>, signal: AbortSignal): RunnerLedger {
  const ready = async () => {
    await prepared;
    signal.throwIfAborted();
  };
  return {
    replace: (batchId, intents) => calls.replace(batchId, intents),
    confirm: (done) => calls.confirm(done),
    checkpoints: () => calls.checkpoints(),
    begin: async (intent) => {
      await ready();
      await calls.begin(intent);
    },
    intents: async () => {
      const saved = await calls.intents();
      if (saved.length > 0) await ready();
      return saved;
    },
  };
}

async function runWithViewChecks(
  job: Job,
  source: Source,
  destination: DestinationWriter,
  ledger: RunnerLedger,
  health: Health,
  signal: AbortSignal,
): Promise<void> {
  let checkedAt = performance.now();
  const checked: Pick<DestinationWriter, "insert" | "reject" | "crashes"> = {
    crashes: () => destination.crashes(),
    reject: (records, token) => destination.reject(records, token),
    insert: async (insert, settings, insertSignal) => {
      if (performance.now() - checkedAt > viewCheckMs) {
        checkedAt = performance.now();
        await destination.rememberTokens();
      }
      return await destination.insert(insert, settings, insertSignal);
    },
  };
  const runner = new Runner(
    {
      pipeId: job.pipeId,
      epoch: job.epoch,
      source,
      ledger,
      destination: checked,
      health,
      settings: engineSettings(job.settings),
      concurrency: concurrencyOf(job.settings, job.scaling),
      ownsTables: job.table.kind === "owned",
      limits: job.limits,
      worker: job.replica,
      isMine: (intent: Intent) => assignedWorker(intent.lane, job.replica.count) === job.replica.index,
    },
    signal,
  );
  await runner.run();
}

/** A connector that owns its tables contacts both sides when it opens: their outages are waited for. */
async function openSource(
  connector: Connector,
  job: Job,
  context: SourceContext,
  health: Health,
  signal: AbortSignal,
): Promise<Source> {
  const open = () => connector.open(job.config, context, signal);
  if (job.table.kind === "table") return await open();
  const source = await untilDone(job, health, signal, open);
  if (source === undefined) throw signal.reason;
  return source;
}

/**
 * Repeats work that needs the source or the service, until it succeeds or has failed for too long; undefined when
 * aborted.
 */
export async function untilDone<T>(job: Job, health: Health, signal: AbortSignal, work: () => Promise<T>) {
  const classify = (error: unknown): undefined => {
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    if (error instanceof AppError && !error.retryable) throw error;
    health.bad(failureOf(error));
  };
  return await retry(work, { signal, backoff: backoffOf(job), classify });
}

const madeAgain =
  "The destination table did not exist any more and was made again, without the rows that had been loaded into it. " +
  "Stop and start the pipe to confirm this.";

/** Waits until the destination is ready, or fails when it has been unfit for too long. */
async function prepare(job: Job, destination: DestinationWriter, calls: Calls, health: Health, signal: AbortSignal) {
  const work = async () => {
    if (job.replica.index !== 0) await awaitBegun(calls, signal);
    if (signal.aborted) return;
    const begun = await hasBegun(calls);
    // A pipe that starts over has an empty ledger: until the mark is saved nothing of this epoch is in the table.
    const { isMadeAgain } = await destination.prepare({ empty: job.epoch > 0 && !begun });
    if (begun && isMadeAgain) health.warn("destination", madeAgain);
    if (!begun) await calls.note({ [begunMark]: job.epoch }, {});
    health.prepared();
  };
  const classify = (error: unknown): undefined => {
    if (isFinal(error)) throw error;
    health.bad(failureOf(error));
  };
  await retry(work, { signal, backoff: backoffOf(job), classify });
}

function backoffOf(job: Job): Backoff {
  return new Backoff({ baseMs: job.limits.retryBaseMs, capMs: 30_000 });
}

/** Interval of checks whether the first replica has begun. */
const begunPollMs = 200;

/** The first replica prepares the destination for all. */
async function awaitBegun(calls: Calls, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await hasBegun(calls))) await sleep(begunPollMs, signal);
}

async function hasBegun(calls: Calls): Promise<boolean> {
  return (await calls.marks([begunMark]))[begunMark] !== undefined;
}

type ContextParts = {
  readonly job: Job;
  readonly network: NetworkContext;
  readonly access: JobAccess;
  readonly calls: Calls;
  readonly events: JobEvents;
};

function contextOf({ job, network, access, calls, events }: ContextParts): SourceContext {
  const { destination, health, query } = access;
  return {
    network,
    pipeId: job.pipeId,
    epoch: job.epoch,
    settings: sourceSettings(job.settings),
    concurrency: concurrencyOf(job.settings, job.scaling),
    memoryGb: memoryGbOf(job.scaling),
    sourceIdleTimeoutMs: job.limits.sourceIdleTimeoutMs,
    replica: job.replica,
    // Nothing is written, but the lease is compared.
    holder: { fence: job.fence, require: () => calls.note({}, {}) },
    ledger: {
      marks: async (keys) => new Map(Object.entries(await calls.marks(keys))),
      note: (marks, counts) => calls.note(marks, notedCounts(counts)),
      forget: (lanes, marks) => calls.forget(lanes, marks),
      reject: async (records) => {
        const content = JSON.stringify(records.map(({ origin, position }) => [origin, position]));
        const id = createHash("sha256").update(content).digest("hex").slice(0, 32);
        await destination.reject(records, `${job.pipeId}:${job.epoch}:noted:${id}`);
      },
    },
    progress: {
      answered: () => health.good(["source"]),
      copying: (isCopying) => health.copying(isCopying),
      warn: (key, message) => health.warn(key, message),
      report: events.gauges,
    },
    destination: {
      target: job.table,
      query,
      crashes: () => destination.crashes(),
      form: async () => (await destination.layout()).form,
      define: (sql) => destination.define(sql),
      refusal: (error) => {
        const failure = failureOf(error);
        return failure.kind === "data" || failure.kind === "destination" ? sentenceOf(failure) : undefined;
      },
    },
    inbox: {
      folder: () => calls.inboxFolder(),
      news: (after) => calls.inboxNews(after),
      loaded: (next) => calls.inboxLoaded(next),
    },
  };
}
