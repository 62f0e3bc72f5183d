/**
 * The connector contract. A connector declares itself in `<kind>/declaration/kind.ts` (schemas, secret paths) and does
 * its I/O in files beside that folder. It never accesses the store or the destination: it yields batches, and the pipe
 * runner owns the order *save intent -> insert with token -> save checkpoint -> acknowledge upstream*.
 */
import type { Server } from "node:net";
import type { Readable } from "node:stream";
import type { z } from "zod";
import type { QueryOptions } from "../../clickhouse/client.ts";
import type { TableForm } from "../../clickhouse/table-form.ts";
import type { Issue } from "../../lib/errors.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { DialTarget } from "../../outgoing/dialer.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { CheckName, CheckRun } from "./checks.ts";
import type { SourceDescription } from "./description.ts";
import type { Discovery } from "./discovery.ts";
import type { DurableShapes } from "./durable.ts";
import type { InboxAccess } from "./inbox-access.ts";
import type { ListChange } from "./list-change.ts";
import type { ListingPage, SourceListing } from "./listing.ts";
import type { SourceObject, SourceWatch } from "./own-objects.ts";
import type { ObjectResync, TableResync } from "./partial-resync.ts";
import type { TableLayout, TableProgress } from "./several-tables.ts";
import type { SlowInsert } from "./slow-insert.ts";

/**
 * What a kind of source keeps in the ledger of its pipes, which outlives the process. The types follow from the schemas
 * in the connector's `durable.ts` (`DurableOf`), so that everything written is JSON and is checked when it is read.
 */
export type Durable = {
  /** The members from which a batch is rebuilt. */
  readonly replay: JsonObject;
  /** Position of a lane. */
  readonly checkpoint: Json;
  /** By key. */
  readonly marks: Readonly<Record<string, Json>>;
};

/** One INSERT of a batch. The runner adds the deduplication token and the frozen settings. Secrets are in `params`. */
export type Insert = Pick<QueryOptions, "params" | "bodyTable"> & {
  /** The full statement. Data is either read by the engine itself (`SELECT ... FROM s3(...)`) or sent as `body`. */
  readonly sql: string;
  /** Fresh bytes for every attempt. */
  readonly body?: () => Buffer | Readable;
  /** Its identity in a batch that may be rebuilt without some inserts, with the same `settings`. Default: its index. */
  readonly key?: string;
  /** Rows of the source that it carries. Absent where only the engine knows, which then counts the rows it writes. */
  readonly rows?: number;
  /** A source with several tables names the one whose rows it counts. */
  readonly table?: string;
  /** Counts the rows before the insert, where the engine would count those of views too. */
  readonly count?: (signal: AbortSignal) => Promise<number>;
  readonly slow?: SlowInsert;
  /** Engine settings the statement needs. They are saved with the intent, and a replay uses the saved ones. */
  readonly settings?: Readonly<Record<string, string | number>>;
};

/**
 * Rows that become durable together. The same `replay` value must always rebuild the same rows in the same order, cut
 * at the same places, because the deduplication token makes a repeated insert harmless only then.
 */
export type Batch<D extends Durable = Durable> = {
  /**
   * Batches of one lane are inserted sequentially; lanes run concurrently, up to the pipe's concurrency. A partition or
   * shard is a lane; where order is irrelevant, every batch has a lane of its own.
   */
  readonly lane: string;
  /** Unique within the pipe and the same on every replay; the token is derived from it. */
  readonly id: string;
  /** Everything needed to rebuild this batch, without secrets. Saved before the insert begins. */
  readonly replay: D["replay"];
  /** Position of the lane once this batch is durable. Absent when marks alone record progress. */
  readonly checkpoint?: D["checkpoint"];
  /** In order. May be empty: then the batch only records what is given up. */
  readonly inserts: readonly Insert[];
  /**
   * Id of the refused batch that this one completes. Both share a token: blocks that the refused attempt left in the
   * table are recognised. Only for a batch whose rows begin with the same blocks.
   */
  readonly continues?: string;
  /** Keys that the source has finished once the batch is durable (object versions, for example). */
  readonly marks?: D["marks"];
  /** Added to the pipe's counters when the batch is durable. */
  readonly counts?: SourceCounts | ErrorRequestCounts;
  /** Rows that the source fetched and that are not meant for the destination: neither sent nor refused. */
  readonly skippedRows?: number;
  /** Written to the error table once, before the batch is confirmed. */
  readonly rejected?: readonly RejectedRecord[];
};

/**
 * What a source counts. Rows are counted by the runner (`rowCounts`), so that `fetchedRows = sentRows + refusedRows +
 * skippedRows` holds whatever a source does.
 */
export type SourceCounts = Readonly<Partial<Record<"fetchedBytes" | "filesLoaded" | "filesFailed", number>>>;

/** What is counted outside a batch. */
export type NotedCounts = Readonly<Partial<Record<"errors" | "skippedRows", number>>>;

/** What a batch of refused rows counts instead: as rows of the source they are counted already. */
export type ErrorRequestCounts = Readonly<
  Partial<Record<"fetchedRows" | "sentRows" | "sentBytes" | "replayedRows" | "discardedRows", number>>
>;

/** A row or object that could not be loaded: it is written to the destination's `<table>_pipes_error` table. */
export type RejectedRecord = {
  readonly origin: string;
  readonly position?: string;
  readonly message: string;
  readonly raw?: string;
  /** Number of fetched rows that it represents (default 1): 0 for an object, a gap, or anything else without rows. */
  readonly rows?: number;
  /** How `raw` shows the row's bytes: as they are, or as `hex:` and digits. */
  readonly format?: "text" | "hex";
  /** Bytes of the row; `raw` may be the beginning of it. */
  readonly size?: number;
  /** What `RowReplay` needs besides `raw`. Absent: the row cannot be replayed, because its bytes are not complete. */
  readonly facts?: JsonObject;
};

/** Why the engine refused a batch. */
export type InsertFailure = {
  /**
   * `data`: these bytes will never load. `source`: reading them failed, after several attempts. `destination`: the
   * table or a view on it has refused them for a while; only reported to a source that owns its tables. `crash`: the
   * engine, which reads them itself, has ended.
   */
  readonly kind: "data" | "source" | "destination" | "crash";
  /** Numeric code of the engine. */
  readonly code: number;
  /** Index of the refused insert in the batch; those before it succeeded. */
  readonly insert: number;
  /** The engine's sentence, free of secrets. */
  readonly message: string;
};

export type Query = (
  sql: string,
  options?: {
    readonly params?: Readonly<Record<string, string>>;
    readonly settings?: Readonly<Record<string, string | number>>;
  },
) => Promise<Record<string, unknown>[]>;

/** The rules of a connector, and whom it works for. Every connection of it is subject to the policy. */
export type NetworkContext = {
  readonly policy: OutgoingPolicy;
  /** External id when a role of AWS is assumed. */
  readonly organizationId: string;
  /** Permits the destination's engine to read from an address of the source, until the worker or the check ends. */
  permitEngine(target: DialTarget): Promise<void>;
  /** A listener on 127.0.0.1 that an engine may read from: with `isSure`, only one that surely reaches it. */
  listenForEngine(isSure?: boolean): Promise<Server>;
};

/** What a source receives besides its configuration. */
export type SourceContext<D extends Durable = Durable> = {
  readonly network: NetworkContext;
  readonly pipeId: string;
  /** Increases when the pipe starts over (resync, restore): part of every token. */
  readonly epoch: number;
  /** The pipe's settings with defaults filled in. */
  readonly settings: SourceSettings;
  /** Number of concurrent inserts. */
  readonly concurrency: number;
  /** Memory of this worker, as scaled: it determines how much a source may hold. */
  readonly memoryGb: number;
  /** A connection to the source that should bring data, and has brought none for this long, counts as broken. */
  readonly sourceIdleTimeoutMs: number;
  /** This worker's part of the work: replica `index` of `count`. */
  readonly replica: { readonly index: number; readonly count: number };
  readonly holder: SourceHolder;
  readonly ledger: SourceLedger<D>;
  readonly progress: SourceProgress;
  readonly destination: DestinationAccess;
  /** A kind with an inbox uses it. */
  readonly inbox: InboxAccess;
};

/** The process that runs the pipe. */
export type SourceHolder = {
  /** Grows with every process that runs the pipe. */
  readonly fence: number;
  /** Throws LEASE_LOST when another process runs the pipe. */
  require(): Promise<void>;
};

/** What the source keeps besides the checkpoints of its batches. */
export type SourceLedger<D extends Durable = Durable> = {
  marks<K extends keyof D["marks"] & string>(keys: readonly K[]): Promise<ReadonlyMap<string, D["marks"][K]>>;
  /** Saves marks and adds to counters outside a batch. */
  note(marks: D["marks"], counts: NotedCounts): Promise<void>;
  /** Deletes the positions of lanes, and marks. The lanes have no batch in progress. */
  forget(lanes: readonly string[], marks: readonly (keyof D["marks"] & string)[]): Promise<void>;
  /** Records things outside a batch in the error table. A record with the same origin and position is written once. */
  reject(records: readonly RejectedRecord[]): Promise<void>;
};

/** What the source reports about itself while it runs. */
export type SourceProgress = {
  /** The source has just answered: this ends an outage, also when there is nothing new. */
  answered(): void;
  /** Sets a warning. The pipe continues, and is shown as degraded until the same key is set without a message. */
  warn(key: string, message?: string): void;
  /** The pipe copies existing data before it follows changes: shown as `Snapshot`. */
  copying(isCopying: boolean): void;
  /** Gauges such as lag and progress; shown in the API and in the metrics. */
  report(gauges: Readonly<Record<string, number>>): void;
};

/** The destination of the pipe, and access to it. */
export type DestinationAccess = {
  readonly target: Destination;
  /** A plain query on the destination service. Wakes it: not for polling. */
  readonly query: Query;
  /** Grows when an engine of the service has ended by an error of its own. */
  readonly crashes: () => Promise<number>;
  /** How tables are written that connectors own. */
  readonly form: () => Promise<TableForm>;
  /** A statement that defines tables, for connectors that own theirs. */
  readonly define: (sql: string) => Promise<void>;
  /** The engine's message, after an error of `define`, when the statement can never succeed. */
  refusal(error: unknown): string | undefined;
};

export type SourceSettings = Readonly<Record<string, number | boolean>>;

export type Destination = TableDestination | OwnedDestination;

export type TargetTable = {
  readonly database: string;
  readonly table: string;
  /** The columns the pipe fills, with the source field of each. */
  readonly columns: readonly DestinationColumn[];
};

/** One table, whose columns the pipe's definition names. */
export type TableDestination = TargetTable & { readonly kind: "table" };

/** Tables that the connector creates and changes itself. It can give one of them up while the others continue. */
export type OwnedDestination = {
  readonly kind: "owned";
  readonly database: string;
  readonly tables: readonly string[];
};

export type DestinationColumn = { readonly name: string; readonly type: string; readonly sourceField: string };

export interface Source<D extends Durable = Durable> extends AsyncDisposable {
  /** Rebuilds a batch from its saved `replay`. Where its data is gone upstream, the insert fails and not this. */
  replay(replay: D["replay"], signal: AbortSignal): Promise<Batch<D>>;
  /**
   * New batches after the given checkpoints, in order per lane. Returns when the source is exhausted or aborted. When
   * it throws a retryable AppError, the runner waits and calls it again with the checkpoints reached by then.
   */
  read(checkpoints: ReadonlyMap<string, D["checkpoint"]>, signal: AbortSignal): AsyncIterable<Batch<D>>;
  /**
   * Batches to insert instead of one that the engine refused: smaller or more tolerant ones, or one without inserts
   * that records what is given up. An empty list stops the pipe with the failure, the batch itself is repeated.
   */
  refused(batch: Batch<D>, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch<D>[]>;
  /** Acknowledges upstream that everything up to the batch is durable. Only called after the checkpoint is saved. */
  acknowledge(batch: Batch<D>): Promise<void>;
}

/** A refused row as the error table keeps it. */
export type KeptRow = {
  readonly id: string;
  /** The bytes of the row. */
  readonly bytes: Buffer;
  /** `RejectedRecord.facts`. */
  readonly facts: JsonObject;
};

/** Reason by id of the row. */
export type RefusedReplays = ReadonlyMap<string, string>;

/** What becomes of a batch of kept rows that the engine refused again. */
export type ReplayDecision =
  /** The same batch without these rows; it continues under the refused one's token. */
  | { readonly kind: "without"; readonly refused: RefusedReplays }
  /** Two batches with tokens of their own; the first ends with this row. */
  | { readonly kind: "halves"; readonly lastOfFirst: string }
  /** The rows are not the cause. */
  | { readonly kind: "stop" };

export type ReplayInserts = {
  /** None when no row is left. */
  readonly inserts: readonly Insert[];
  /** Rows without an insert. */
  readonly refused: RefusedReplays;
  decide(failure: InsertFailure): Promise<ReplayDecision>;
};

/** Makes refused rows again, under the pipe's present definition. */
export interface RowReplay {
  /**
   * The inserts of the rows, without those that are `refused`. The same rows in the same order give the same inserts.
   * Throws a retryable AppError.
   */
  make(rows: readonly KeptRow[], refused: RefusedReplays, signal: AbortSignal): Promise<ReplayInserts>;
}

export type RowReplayContext = {
  readonly network: NetworkContext;
  readonly target: Destination;
  readonly query: Query;
};

/** The operations of a connector, with its own types; `defineConnector` turns it into a `Connector`. */
export type TypedConnector<Config> = {
  /** Connects and authenticates; with `validateSamples` also reads samples. Throws AppError SOURCE_* on failure. */
  check(config: Config, options: CheckOptions, signal: AbortSignal): Promise<void>;
  /** Loads the code that only some configurations need, before they are opened. The secrets may be missing. */
  load?(config: Config): Promise<void>;
  open(config: Config, context: SourceContext, signal: AbortSignal): Promise<Source>;
  createdTables?(config: Config): readonly TableLayout[];
  /** A kind whose refused rows can be replayed has it. Does not connect to the source. */
  rowReplay?(config: Config, context: RowReplayContext): Promise<RowReplay>;
  /** Fields and types inferred from samples, and some of these. Throws SOURCE_* like `check`. */
  discover?(config: Config, options: DiscoverOptions, signal: AbortSignal): Promise<Discovery>;
  /** A page of what the source has. The members that the kind's `listed` names may be absent. Throws like `check`. */
  list?(config: Config, options: ListOptions, signal: AbortSignal): Promise<SourceListing>;
  /**
   * Removes one of the objects that the kind's `made` names, after the pipe is deleted. Does nothing when the object
   * does not exist. Is called again later when it throws.
   */
  cleanUp?(config: Config, pipe: CleanUpOptions, signal: AbortSignal): Promise<void>;
  /** Looks at what costs the source something while no worker runs: a slot that holds back log. */
  watch?(config: Config, pipe: CleanUpOptions): SourceWatch;
};

/** Loaded only when a pipe of its kind is created or run. Its configuration was accepted by the request's schema. */
export type Connector = TypedConnector<JsonObject>;

export type DiscoverOptions = { readonly network: NetworkContext; readonly query: Query };
export type ListOptions = { readonly network: NetworkContext; readonly page: ListingPage };

export type CleanUpOptions = { readonly network: NetworkContext; readonly object: SourceObject };

export type CheckOptions = {
  readonly network: NetworkContext;
  readonly validateSamples: boolean;
  readonly destination: Destination;
  readonly query: Query;
  /** Names the existing pipe: whatever it has created on both sides belongs to it. Undefined: it is new. */
  readonly pipeId: string | undefined;
  readonly stored?: JsonObject | undefined;
  /** Marks of the existing pipe; `stored` is its source before the change. */
  readonly marks: (keys: readonly string[]) => Promise<Readonly<Record<string, Json>>>;
  /** Says what the user should know of a configuration that is accepted. */
  readonly warn: (warning: Issue) => void;
  /** Every check has a name and is made by it. */
  readonly run: CheckRun;
};

export type SourceKind = SourceDescription & {
  /** The member of `source` that selects this kind. */
  readonly key: string;
  /** What pipes of this kind keep in their ledger. */
  readonly durable: DurableShapes;
  /** The members of a create request. */
  readonly request: z.ZodObject;
  /** A list that a patch request may also change in part. */
  readonly listChange?: ListChange;
  /**
   * The members that name the address of each secret member, as one text each or several between commas. Another
   * address requires the secret again, so that whoever may change a pipe cannot have it sent elsewhere.
   */
  readonly sentTo?: Readonly<Record<string, readonly string[]>>;
  /** The members that name the address which a check asks; the first that is given counts. Absent: as `connection`. */
  readonly addresses?: Readonly<Partial<Record<CheckName, readonly string[]>>>;
  /** Removes secrets from a member that is shown, such as the key in a connection string. */
  readonly shown?: (config: JsonObject) => JsonObject;
  /** Cross-field rules; returns issues with paths below the kind's member. */
  readonly rules?: (config: JsonObject) => { readonly path: string; readonly message: string }[];
  /**
   * A connector that creates its tables itself names them, in the destination database. Such a pipe has one
   * worker, and its request names neither table nor columns. Undefined where the table is the user's.
   */
  readonly targets?: (config: JsonObject) => readonly string[] | undefined;
  /** Such a connector tells the state of each table, from the marks of the ledger as they are stored. */
  readonly tables?: (config: JsonObject, marks: Readonly<Record<string, Json>>) => readonly TableProgress[];
  /** A connector that can load one table anew while the others go on has it. */
  readonly resync?: TableResync;
  /** A connector that can load objects once more has it. */
  readonly objectResync?: ObjectResync;
  /**
   * What a pipe makes at its source, by names that follow from its id: recorded before a worker starts, so that it is
   * found again whatever happens. Never what the user made.
   */
  readonly made?: (config: JsonObject, pipeId: string) => readonly SourceObject[];
  /** Why a pipe cannot continue from the position that a backup holds, with the remedy. Absent: it always can. */
  readonly lostSinceBackup?: (config: JsonObject) => string | undefined;
  /** Objects of the user that the source keeps log for, as long as the pipe exists: looked at, and never removed. */
  readonly given?: (config: JsonObject) => readonly SourceObject[];
};
