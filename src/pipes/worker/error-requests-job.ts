/** Runs the requests for a pipe's refused rows: replays and discards, beside the workers that read the source. */
import type { Connector, NetworkContext } from "../../sources/contract/source.ts";
import type { Confirmation, Intent } from "../durable.ts";
import type { ErrorRequestDurable } from "../error-requests.ts";
import type { Calls, Job, WorkerStatus } from "../protocol.ts";
import type { DestinationWriter } from "./destination.ts";
import { ErrorRequestsSource } from "./error-requests-source.ts";
import type { Health } from "./health.ts";
import { type JobEvents, untilDone } from "./job.ts";
import { outcomeOfJob } from "./job-outcome.ts";
import { RefusedRows } from "./refused-rows.ts";
import { Runner } from "./runner.ts";
import { engineSettings } from "./settings.ts";

export async function runErrorRequests(
  job: Job,
  network: NetworkContext,
  connect: () => Promise<Connector>,
  calls: Calls,
  events: JobEvents,
  signal: AbortSignal,
): Promise<WorkerStatus> {
  return await outcomeOfJob(
    job,
    { calls, policy: network.policy },
    events.tell,
    signal,
    async ({ health, destination, query }) => {
      const connector = await connect();
      await untilDone(job, health, signal, async () => {
        await destination.createErrorTable();
        await destination.rememberTokens();
      });
      if (signal.aborted) return;
      const context = { network, target: job.table, query };
      const replay = await connector.rowReplay?.(job.config, context);
      await using source = new ErrorRequestsSource({
        requests: {
          list: () => calls.errorRequests(),
          find: (id) => calls.errorRequest(id),
          sized: (id, rows) => calls.sizeErrorRequest(id, rows),
          finish: (id, outcome) => calls.finishErrorRequest(id, outcome),
        },
        rows: new RefusedRows(job.pipeId, job.table, query),
        replay,
        now: () => Date.now(),
      });
      await runnerOf(job, source, destination, calls as unknown as Calls<ErrorRequestDurable>, health, signal).run();
    },
  );
}

function runnerOf(
  job: Job,
  source: ErrorRequestsSource,
  destination: DestinationWriter,
  ledger: Calls<ErrorRequestDurable>,
  health: Health,
  signal: AbortSignal,
): Runner<ErrorRequestDurable> {
  const parts = {
    ...{ pipeId: job.pipeId, epoch: job.epoch, source, destination, health, limits: job.limits },
    ledger: {
      begin: (intent: Intent<ErrorRequestDurable>) => ledger.begin(intent),
      replace: (batchId: string, intents: readonly Intent<ErrorRequestDurable>[]) => ledger.replace(batchId, intents),
      confirm: (done: Confirmation<ErrorRequestDurable>) => ledger.confirm(done),
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
  return new Runner<ErrorRequestDurable>(parts, signal);
}
