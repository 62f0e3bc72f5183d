/** What control plane and pipe worker say to each other over the worker's IPC channel. */
import type { DestinationTable, Json } from "../sources/source.ts";
import type { Confirmed, FrozenIntent } from "./runner.ts";

/** Everything a worker needs to run its pipe; sent once, at start. Holds opened secrets: never logged. */
export type Job = {
  readonly pipeId: string;
  readonly epoch: number;
  readonly kind: string;
  readonly config: Record<string, unknown>;
  /** Values that must not appear in any message. */
  readonly secretValues: readonly string[];
  readonly settings: Readonly<Record<string, number | boolean>>;
  readonly concurrency: number;
  readonly destination: DestinationTable;
  /** Statements that make the destination ready, run before anything is read; each may be repeated. */
  readonly setup: readonly string[];
};

/** Calls of the worker, answered by the control plane. */
export type WorkerCalls = {
  intents(): FrozenIntent[];
  checkpoints(): Record<string, Json>;
  begin(intent: FrozenIntent): void;
  replace(change: { batchId: string; intents: readonly FrozenIntent[] }): void;
  confirm(done: Confirmed): void;
  marks(keys: readonly string[]): Record<string, Json>;
  /** Wakes the service if need be. */
  acquire(): { leaseId: number; socketPath: string };
  release(leaseId: number): void;
};

export type FromWorker =
  | { readonly type: "call"; readonly id: number; readonly method: keyof WorkerCalls; readonly argument: unknown }
  | { readonly type: "phase"; readonly phase: "Setup" | "Snapshot" | "Running" }
  | { readonly type: "trouble"; readonly reason: string | null }
  | { readonly type: "gauges"; readonly gauges: Readonly<Record<string, number>> }
  | { readonly type: "completed" }
  | { readonly type: "failed"; readonly reason: string };

export type ToWorker =
  | { readonly type: "job"; readonly job: Job }
  | { readonly type: "stop" }
  | { readonly type: "answer"; readonly id: number; readonly value?: unknown; readonly error?: string };
