/** Runs the requests for a pipe's refused rows: replays and discards, beside the workers that read the source. */
import { AppError } from "../../lib/errors.ts";
import type { Connector, NetworkContext, Query } from "../../sources/source.ts";
import type { AgainDurable } from "../again.ts";
import type { Confirmation, Intent } from "../durable.ts";
import type { Calls, Job, WorkerStatus } from "../protocol.ts";
import { AgainSource } from "./again-source.ts";
import { DestinationWriter } from "./destination.ts";
import { Health, PipeFailure } from "./health.ts";
import { type JobEvents, untilDone } from "./job.ts";
import { RefusedRows } from "./refused-rows.ts";
import { Runner } from "./runner.ts";
import { ServiceLink } from "./service-link.ts";
import { engineSettings } from "./settings.ts";

export async function runAgainJob(
  job: Job,
  network: NetworkContext,
  connect: () => Promise<Connector>,
  calls: Calls,
  events: JobEvents,
  signal: AbortSignal,
): Promise<WorkerStatus> {
  const link = new ServiceLink(calls);
  const health = new Health(job.limits, events.tell);
  const destination = new DestinationWriter(link, job.pipeId, job.table, job.destination);
  const query: Query = async (sql, options = {}) => await link.use((client) => client.rows(sql, options));
  try {
    const connector = await connect();
    await untilDone(job, health, signal, async () => {
      await destination.createErrorTable();
      await destination.rememberTokens();
    });
    if (signal.aborted) return { phase: "stopped" };
    const context = { network, target: job.table, query };
    const again = await connector.rowsAgain?.(job.config, context);
    await using source = new AgainSource({
      requests: {
        list: () => calls.errorRequests(),
        find: (id) => calls.errorRequest(id),
        sized: (id, rows) => calls.sizeErrorRequest(id, rows),
        finish: (id, outcome) => calls.finishErrorRequest(id, outcome),
      },
      rows: new RefusedRows(job.pipeId, job.table, query),
      again,
      now: () => Date.now(),
    });
    await runnerOf(job, source, destination, calls as unknown as Calls<AgainDurable>, health, signal).run();
    return { phase: signal.aborted ? "stopped" : "completed" };
  } catch (error) {
    if (signal.aborted) return { phase: "stopped" };
    if (error instanceof PipeFailure) return { phase: "failed", reason: error.message };
    if (error instanceof AppError && !error.retryable) return { phase: "failed", reason: error.message };
    throw error;
  } finally {
    link.close();
  }
}

function runnerOf(
  job: Job,
  source: AgainSource,
  destination: DestinationWriter,
  ledger: Calls<AgainDurable>,
  health: Health,
  signal: AbortSignal,
): Runner<AgainDurable> {
  const parts = {
    ...{ pipeId: job.pipeId, epoch: job.epoch, source, destination, health, limits: job.limits },
    ledger: {
      begin: (intent: Intent<AgainDurable>) => ledger.begin(intent),
      replace: (batchId: string, intents: readonly Intent<AgainDurable>[]) => ledger.replace(batchId, intents),
      confirm: (done: Confirmation<AgainDurable>) => ledger.confirm(done),
      intents: () => ledger.intents(),
      // What has been tried is marked in the error table; the positions are those of the workers that read the source.
      checkpoints: async () => ({}),
    },
    settings: engineSettings(job.settings),
    concurrency: 1,
    ownsTables: false,
    worker: job.replica,
    isMine: () => true,
  };
  return new Runner<AgainDurable>(parts, signal);
}
