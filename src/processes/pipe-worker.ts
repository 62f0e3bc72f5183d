/** A pipe worker process: runs replicas of pipes, each in a worker slot. Exits when its parent ends or disconnects. */
import { performance } from "node:perf_hooks";
import type { FromWorker, ToWorker } from "../pipes/protocol.ts";
import { WorkerSlots } from "../pipes/worker/worker-slots.ts";

/** Longest wait for inserts in progress when the parent requests a stop; the parent kills later than that. */
const lastResortMs = 2_000;
/**
 * Interval of reports of the load: the processor time of the event loop's thread. Time in which it only waits for a
 * processor is none, because a process of its own would not help a pipe on a machine that is busy with other things.
 */
const loadEveryMs = 2_000;

const send = (message: FromWorker) => {
  if (process.connected) process.send?.(message);
};
const slots = new WorkerSlots(send);

process.on("disconnect", () => {
  slots.stopAll();
  // Without the parent nothing can be confirmed, and a hanging process must not outlive it.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), lastResortMs);
  setImmediate(() => process.exit(0));
});
// The parent decides when to stop: a Ctrl-C in the terminal reaches the whole process group.
process.on("SIGINT", () => {});
process.on("message", (message: ToWorker, handle: unknown) => slots.receive(message, handle));

// What any slot has left half done is unknown: all of them are replayed by another process.
process.on("uncaughtException", (error: unknown) => {
  const slot = slots.current();
  process.stderr.write(`the pipe worker cannot go on: ${error instanceof Error ? error.stack : error}\n`);
  if (slot !== undefined) send({ type: "fault", slot });
  process.exit(1);
});

let measured = { cpu: process.threadCpuUsage(), at: performance.now() };
setInterval(() => {
  const now = { cpu: process.threadCpuUsage(), at: performance.now() };
  const usedMs = (now.cpu.user + now.cpu.system - measured.cpu.user - measured.cpu.system) / 1_000;
  send({ type: "load", utilization: Math.min(1, usedMs / (now.at - measured.at)) });
  measured = now;
}, loadEveryMs).unref();
