/** IPC messages between the supervisor and a worker process. Everything is JSON. */
import type { Server } from "node:net";
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { ErrorCode } from "../lib/errors.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { DialTarget } from "../outgoing/dialer.ts";
import type { OutgoingRules } from "../outgoing/policy.ts";
import type { Destination, Durable } from "../sources/contract/source.ts";
import type { ErrorOutcome, ErrorRequest } from "../store/pipes/error-requests.ts";
import type { PipeDestination } from "../store/pipes/pipes.ts";
import type { Confirmation, Intent } from "./durable.ts";

/** A pipe as a worker runs it, including secrets: it is sent over IPC only, never on a command line. */
export type Job = {
  /** `error-requests`: the worker replays and discards refused rows, and does not read the source. */
  readonly task: "load" | "error-requests";
  readonly pipeId: string;
  readonly epoch: number;
  readonly sourceKind: string;
  readonly config: JsonObject;
  readonly table: Destination;
  readonly destination: PipeDestination;
  readonly settings: Readonly<Record<string, number | boolean>>;
  readonly scaling: Readonly<Record<string, number>>;
  /** This worker among those of the pipe. `run` is the same for all that were started together, and for no others. */
  readonly replica: { readonly index: number; readonly count: number; readonly run: string };
  /** Grows with every process that runs the pipe. */
  readonly fence: number;
  readonly limits: OutageLimits;
  readonly organizationId: string;
  /** Allowed outgoing connections at the job's start; an `outgoing` message replaces them. */
  readonly outgoing: OutgoingRules;
};

export type OutageLimits = {
  /** Time after which a source that does not answer fails the pipe. */
  readonly sourceOutageMs: number;
  /** Idle time after which a connection to a source counts as broken. */
  readonly sourceIdleTimeoutMs: number;
  /** Time after which a destination that refuses inserts fails the pipe. */
  readonly destinationOutageMs: number;
  /** Pause before the second attempt; doubles up to 30 s. */
  readonly retryBaseMs: number;
};

/** The control plane's side of a worker's calls. Refused for a worker that is not current. */
export type Calls<D extends Durable = Durable> = {
  begin(intent: Intent<D>): Promise<void>;
  replace(batchId: string, intents: readonly Intent<D>[]): Promise<void>;
  confirm(done: Confirmation<D>): Promise<void>;
  note(marks: Readonly<Record<string, Json>>, counts: Readonly<Record<string, number>>): Promise<void>;
  /** Deletes positions of lanes, and marks. */
  forget(lanes: readonly string[], marks: readonly string[]): Promise<void>;
  intents(): Promise<Intent<D>[]>;
  checkpoints(): Promise<Record<string, D["checkpoint"]>>;
  marks(keys: readonly string[]): Promise<Record<string, Json>>;
  /** A worker that replays and discards calls these: see `ErrorRequests`. */
  errorRequests(): Promise<readonly ErrorRequest[]>;
  errorRequest(id: string): Promise<ErrorRequest>;
  sizeErrorRequest(id: string, rows: number): Promise<number>;
  finishErrorRequest(id: string, outcome: ErrorOutcome): Promise<void>;
  /** A pipe with an inbox calls these: see `InboxAccess`. */
  inboxFolder(): Promise<string>;
  inboxNews(after: number): Promise<number>;
  inboxLoaded(next: number): Promise<void>;
  /** Waits until the service answers, waking it if it is idle. It stays awake until the lease is released. */
  acquire(): Promise<{ readonly lease: number; readonly address: ClickHouseAddress }>;
  release(lease: number): Promise<void>;
  /** Permits the service's engine to read from the address until this worker ends. */
  permitEngine(target: DialTarget): Promise<void>;
  /** A listener that the service's engine may read from until this worker ends. It is sent with the reply. */
  listenForEngine(isSure?: boolean): Promise<Server>;
};

/** The lane of batches that replay or discard refused rows. */
export const errorRequestLane = "again";

/** The mark that the first worker of an epoch leaves when the destination is ready, before its first batch begins. */
export const begunMark = "begun";

/** Begins the names of counters of rows by table, for sources with several tables. */
export const tableRowsPrefix = "tableRows:";

export type WorkerStatus =
  | { readonly phase: "preparing" | "snapshot" | "running" | "stopped" }
  /** `refusal`: why the first row or object that this worker refused was refused. */
  | { readonly phase: "completed"; readonly refusal?: string | undefined }
  /** `isSourceAway`: the source does not answer, so that nobody knows its end. */
  | { readonly phase: "degraded" | "failed"; readonly reason: string; readonly isSourceAway?: boolean | undefined };

/** To a worker process. `slot` is the worker slot of one of its jobs; a number is never used twice. */
export type ToWorker =
  | ToWorkerSlot
  /** The server has opened or closed ports of its own. */
  | { readonly type: "outgoing"; readonly ownPorts: readonly number[] }
  /** A job of this kind is about to come. The configuration has no secrets. */
  | { readonly type: "expect"; readonly sourceKind: string; readonly config: JsonObject };

export type ToWorkerSlot = { readonly slot: number } & (
  | { readonly type: "start"; readonly job: Job }
  | { readonly type: "stop" }
  | { readonly type: "reply"; readonly id: number; readonly result?: unknown; readonly error?: CallError }
);

export type FromWorker =
  | FromWorkerSlot
  /** Share of a processor that the event loop has used since the message before, 0 to 1. */
  | { readonly type: "load"; readonly utilization: number }
  /** The last message before the process ends: the job whose code has thrown, as far as that is known. */
  | { readonly type: "fault"; readonly slot: number };

export type FromWorkerSlot = { readonly slot: number } & (
  | { readonly type: "call"; readonly id: number; readonly name: keyof Calls; readonly args: readonly unknown[] }
  | { readonly type: "status"; readonly status: WorkerStatus }
  | { readonly type: "gauges"; readonly gauges: Readonly<Record<string, number>> }
  /** The last message of a slot. `failed`: the job has thrown an error that it does not handle. */
  | { readonly type: "ended"; readonly failed: boolean }
);

export type CallError = { readonly code: ErrorCode; readonly message: string };
