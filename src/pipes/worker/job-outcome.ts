/** What all jobs of a worker have in common: the way to the destination, and the outcome. */
import { AppError } from "../../lib/errors.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import { type SourceKindKey, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import type { Query } from "../../sources/contract/source.ts";
import type { Calls, Job, WorkerStatus } from "../protocol.ts";
import { DestinationWriter } from "./destination.ts";
import { Health, PipeFailure } from "./health.ts";
import { ServiceLink } from "./service-link.ts";
import { sourceSettings } from "./settings.ts";

export type JobAccess = {
  readonly link: ServiceLink;
  readonly health: Health;
  readonly destination: DestinationWriter;
  readonly query: Query;
};

/** Does the work of a job, which ends early when the signal aborts. Throws what the worker should be restarted for. */
export async function outcomeOfJob(
  job: Job,
  { calls, policy }: { readonly calls: Calls; readonly policy: OutgoingPolicy },
  tell: (status: WorkerStatus) => void,
  signal: AbortSignal,
  work: (parts: JobAccess) => Promise<void>,
): Promise<WorkerStatus> {
  const link = new ServiceLink(calls, policy);
  const health = new Health(job.limits, tell);
  const destination = destinationWriterOf(job, link, health);
  const query: Query = async (sql, options = {}) => await link.use((client) => client.rows(sql, options));
  try {
    await work({ link, health, destination, query });
    return signal.aborted ? { phase: "stopped" } : { phase: "completed", refusal: destination.refusal };
  } catch (error) {
    if (signal.aborted) return { phase: "stopped" };
    if (error instanceof PipeFailure) return { phase: "failed", reason: error.message };
    if (error instanceof AppError && !error.retryable) return { phase: "failed", reason: error.message };
    throw error;
  } finally {
    link.close();
  }
}

/** The destination of a worker's pipe. */
function destinationWriterOf(job: Job, link: ServiceLink, health: Health): DestinationWriter {
  const { pipeId, table: target, destination: definition, settings, sourceKind } = job;
  const { spreadsWith } = sourceDescriptions[sourceKind as SourceKindKey];
  return new DestinationWriter({
    ...{ link, pipeId, target, definition },
    waitsForReplicas: settings.database_insert_quorum as boolean | undefined,
    spreads: spreadsWith !== undefined && sourceSettings(settings)[spreadsWith] === true,
    warn: (key, message) => health.warn(key, message),
  });
}
