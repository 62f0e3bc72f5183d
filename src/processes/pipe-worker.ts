/** A pipe worker process: one replica of one pipe. Exits when its parent has ended. */

import { OutgoingPolicy } from "../outgoing/policy.ts";
import type { FromWorker, ToWorker, WorkerStatus } from "../pipes/protocol.ts";
import { runAgainJob } from "../pipes/worker/again-job.ts";
import { runJob } from "../pipes/worker/job.ts";
import { WorkerLink } from "../pipes/worker/worker-link.ts";
import { connectorOf } from "../sources/connectors.ts";

/** Longest wait for inserts in progress when the parent requests a stop; the parent kills later than that. */
const lastResortMs = 2_000;

const stopping = new AbortController();
const send = (message: FromWorker) => {
  if (process.connected) process.send?.(message);
};
const tell = (status: WorkerStatus) => send({ type: "status", status });
const link = new WorkerLink(send);
let policy: OutgoingPolicy | undefined;

process.on("disconnect", () => {
  stopping.abort();
  // Without the parent nothing can be confirmed, and a hanging process must not outlive it.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), lastResortMs);
  setImmediate(() => process.exit(0));
});
// The parent decides when to stop: a Ctrl-C in the terminal reaches the whole process group.
process.on("SIGINT", () => {});

process.on("message", (message: ToWorker, handle: unknown) => {
  if (message.type === "reply") link.settle(message, handle);
  else if (message.type === "stop") stopping.abort();
  else if (message.type === "outgoing") {
    if (policy !== undefined) policy.ownPorts = message.ownPorts;
  } else {
    const { job } = message;
    policy = new OutgoingPolicy(job.outgoing);
    const { permitEngine, listenForEngine } = link.calls;
    const network = { policy, organizationId: job.organizationId, permitEngine, listenForEngine };
    const run = job.task === "again" ? runAgainJob : runJob;
    run(job, network, () => connectorOf(job.sourceKind), link.calls, { tell, gauges }, stopping.signal)
      .then((status) => finish(status))
      .catch((error: unknown) => {
        process.stderr.write(`the pipe worker cannot go on: ${error instanceof Error ? error.stack : error}\n`);
        process.exit(1);
      });
  }
});

function gauges(values: Readonly<Record<string, number>>): void {
  send({ type: "gauges", gauges: values });
}

function finish(status: WorkerStatus): void {
  process.send?.({ type: "status", status } satisfies FromWorker, () => process.exit(0));
}
