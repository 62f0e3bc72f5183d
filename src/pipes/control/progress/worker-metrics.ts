/** Metrics of worker processes for Prometheus. */
import type { MetricSample } from "../../../lib/metric-sample.ts";
import type { WorkerView } from "../workers/worker-pool.ts";

/** Every metric of workers, for the documentation. */
export const workerMetrics = {
  memory: { name: "Pipes_WorkerMemory_Bytes", help: "Resident memory of a worker process." },
  limit: {
    name: "Pipes_WorkerMemoryLimit_Bytes",
    help: "Memory above which a worker's pipes continue in another one.",
  },
  slots: { name: "Pipes_WorkerSlots_Used", help: "Replicas of pipes that a worker process runs." },
  load: {
    name: "Pipes_WorkerEventLoop_Ratio",
    help: "Share of a processor that a worker's event loop has used in the last seconds, 0 to 1.",
  },
};

export function workerSamples(workers: readonly WorkerView[]): MetricSample[] {
  return workers.flatMap(({ name, organizationId, sourceKind, ...worker }) => {
    const labels = { worker: name, organization: organizationId ?? "", pipe_source: sourceKind };
    const values = {
      memory: worker.memoryBytes,
      limit: worker.memoryLimitBytes,
      slots: worker.pipeIds.length,
      load: worker.utilization,
    };
    return Object.entries(workerMetrics).flatMap(([key, metric]) => {
      const value = values[key as keyof typeof values];
      return value === undefined ? [] : [{ ...metric, labels, value }];
    });
  });
}
