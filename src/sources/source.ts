/**
 * The connector contract. A connector declares itself in `kind.ts` (schemas, secret paths, a lazy `connect`) and does
 * its I/O in one or more files beside it. It never touches the store or the destination: it hands out batches, and the
 * pipe runner owns the order *save intent -> insert with token -> save checkpoint -> acknowledge upstream*.
 */
import type { Readable } from "node:stream";
import type { z } from "zod";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** One INSERT of a batch. The runner adds the deduplication token and the frozen settings. */
export type Insert = {
  readonly database: string;
  readonly table: string;
  /** The full statement. Data is either read by the engine itself (`SELECT ... FROM s3(...)`) or sent as `body`. */
  readonly sql: string;
  /** Fresh bytes for every attempt. */
  readonly body?: () => Buffer | Readable;
  /** Bound parameters of the statement, made anew for every attempt; secrets travel here and never in `sql`. */
  readonly params?: () => Promise<Readonly<Record<string, string>>>;
};

/**
 * Rows that become durable together. The same `replay` value must always rebuild the same rows in the same order, cut at
 * the same places, because the deduplication token makes a repeated insert harmless only then.
 */
export type Batch = {
  /** Batches of one lane are inserted one after the other; lanes run side by side. */
  readonly lane: string;
  /** Unique within the pipe and the same on every replay; the token is derived from it. */
  readonly id: string;
  /** Everything needed to build this batch again. Saved before the insert begins. */
  readonly replay: JsonObject;
  /** Position of the lane once this batch is durable; undefined where marks alone say what is done. */
  readonly checkpoint: Json | undefined;
  readonly inserts: readonly Insert[];
  /** Engine settings of the inserts. They decide how rows are cut into blocks, so they are frozen with the intent. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** Things the source is done with once the batch is durable, by key (object versions, for example). */
  readonly marks?: Readonly<Record<string, Json>>;
  /** Added to the pipe's counters when the batch is durable, once, however often it was tried. */
  readonly counts?: Readonly<Partial<Record<CounterName, number>>>;
};

export const counterNames = [
  "fetchedRows",
  "fetchedBytes",
  "sentRows",
  "sentBytes",
  "filesFound",
  "filesLoaded",
  "filesFailed",
  "bytesFound",
  "errors",
] as const;
export type CounterName = (typeof counterNames)[number];

/** A row or object that could not be loaded: goes to the destination's `<table>_pipes_error` table. */
export type RejectedRecord = {
  readonly origin: string;
  readonly position?: string;
  readonly message: string;
  readonly raw?: string;
};

/** What a source is given besides its configuration. */
export type SourceContext = {
  readonly pipeId: string;
  /** Grows when the pipe starts over (resync, restore): part of every token. */
  readonly epoch: number;
  readonly settings: Readonly<Record<string, number | boolean>>;
  /** Inserts that may run at the same time. */
  readonly concurrency: number;
  readonly destination: DestinationTable;
  readonly marks: MarkReader;
  /** Reports gauges such as lag; shown in the API and in the metrics. */
  report(gauges: Readonly<Record<string, number>>): void;
  /** Tells of trouble that is being retried (the pipe is Degraded meanwhile), and with undefined of its end. */
  trouble(reason: string | undefined): void;
  /**
   * Records what cannot be loaded; resolves when it is durable. The same `token` records the same only once. Does not
   * count: put `errors` into the `counts` of the batch that moves on.
   */
  reject(records: readonly RejectedRecord[], token: string): Promise<void>;
  /** A plain query on the destination service, for schema inference and checks. */
  query(sql: string, params?: Readonly<Record<string, string>>): Promise<Record<string, unknown>[]>;
};

export type DestinationTable = {
  readonly database: string;
  readonly table: string;
  /** The columns the pipe fills, in table order, with the source field of each. */
  readonly columns: readonly { readonly name: string; readonly type: string; readonly sourceField: string }[];
};

export interface MarkReader {
  get(keys: readonly string[]): Promise<ReadonlyMap<string, Json>>;
}

export interface Source extends AsyncDisposable {
  /** Rebuilds a batch from its saved `replay`. */
  replay(replay: JsonObject, signal: AbortSignal): Promise<Batch>;
  /** New batches after the given checkpoints, in order per lane. Returns when the source is exhausted or aborted. */
  read(checkpoints: ReadonlyMap<string, Json>, signal: AbortSignal): AsyncIterable<Batch>;
  /** Tells upstream that everything up to the batch is durable. Only called after the checkpoint is saved. */
  acknowledge(batch: Batch): Promise<void>;
  /**
   * Called when the engine refuses the data of a batch. Returns what to deliver instead: smaller batches, the same batch
   * for another try (after having waited), or one without inserts that records the rejection and moves the checkpoint on.
   * The decision is saved before anything of it is delivered, so a crash cannot lead to another one. A replacement with
   * the id of the refused batch keeps its token: it must give the rows already inserted first, cut at the same places.
   * Absent: the pipe fails.
   */
  refused?(batch: Batch, refusal: Refusal, signal: AbortSignal): Promise<readonly Batch[]>;
}

/** Why the engine did not take a batch. */
export type Refusal = {
  /** The engine's error code. */
  readonly code: number;
  /** Without secrets: safe to show. */
  readonly message: string;
};

/** Opened connector: its code is loaded only when a pipe of its kind is created or run. */
export interface Connector<Config> {
  /** Connects, authenticates and looks; with `validateSamples` also reads samples. Throws AppError SOURCE_* on failure. */
  check(config: Config, options: CheckOptions, signal: AbortSignal): Promise<void>;
  open(config: Config, context: SourceContext, signal: AbortSignal): Promise<Source>;
}

export type CheckOptions = {
  readonly validateSamples: boolean;
  readonly destination: DestinationTable;
  query(sql: string, params?: Readonly<Record<string, string>>): Promise<Record<string, unknown>[]>;
};

export type SourceKind = {
  /** The member of `source` that selects this kind. */
  readonly key: string;
  /** What a create request may carry. */
  readonly request: z.ZodObject;
  /** What a patch request may change; unchanged immutable members are tolerated by the handler. */
  readonly mutable: readonly string[];
  /** Dotted paths that are sealed at rest and absent from responses. */
  readonly secrets: readonly string[];
  /** Secret members that are shown in a safe form, such as a connection string without its key. */
  readonly shown?: (config: JsonObject) => JsonObject;
  /** Cross-field rules; returns what is wrong with paths below the kind's member. */
  readonly rules?: (config: JsonObject) => { readonly path: string; readonly message: string }[];
  /** Loads the connector's code. Absent while this version cannot run the kind. */
  readonly connect?: () => Promise<Connector<never>>;
};
