/** What the connector needs from a data stream. Sequence numbers are decimal texts that increase within a shard. */

export type StreamRecord = {
  readonly sequence: string;
  readonly key: string;
  /** Approximate arrival, UNIX milliseconds. */
  readonly arrivalMs: number;
  readonly data: Uint8Array;
};

export type ShardFacts = {
  readonly id: string;
  /** Shards from which this one was split or merged, including those that the stream no longer lists. */
  readonly parents: readonly string[];
  /** No record will be added to it. */
  readonly closed: boolean;
  /** No record of it has a smaller sequence number; undefined when the stream does not tell it. */
  readonly first?: string | undefined;
};

/** Where reading of a shard begins. */
export type StartAt =
  | { readonly from: "horizon" }
  | { readonly from: "latest" }
  | { readonly from: "time"; readonly ms: number }
  | { readonly from: "at" | "after"; readonly sequence: string };

/** One response of a shard. */
export type FetchedRecords = {
  readonly records: readonly StreamRecord[];
  /** Distance between the response and the end of the shard, in ms. */
  readonly behindMs: number;
  /** The shard is closed and has no records after these. */
  readonly ended: boolean;
};

export type Page = FetchedRecords & { readonly next: string | undefined };

/** One event of a subscription. */
export type Pushed = FetchedRecords & {
  /** Position of the subscription, also when nothing arrived. */
  readonly continuation: string | undefined;
};

/**
 * A data stream accessed over the network. Every call throws AppError SOURCE_*, or a StreamError that the reader
 * handles.
 */
export interface StreamApi {
  /** Every shard whose records can still be read, and the server's clock at the time of the response. */
  shards(signal: AbortSignal): Promise<{ readonly shards: readonly ShardFacts[]; readonly serverMs: number }>;
  iterator(shard: string, start: StartAt, signal: AbortSignal): Promise<string>;
  records(iterator: string, limit: number, signal: AbortSignal): Promise<Page>;
  close(): void;
}

/** Enhanced fan-out: a consumer of our own, to which shards push. */
export interface FanOutApi {
  /** Creates the consumer if it does not exist, waits until it is active, and returns its address. */
  register(consumer: string, signal: AbortSignal): Promise<string>;
  /** Removes the consumer; a missing one is not an error. */
  deregister(consumer: string, signal: AbortSignal): Promise<void>;
  /** Ends after at most five minutes, or when the shard has ended. */
  subscribe(consumerArn: string, shard: string, start: StartAt, signal: AbortSignal): AsyncIterable<Pushed>;
}

/**
 * Errors that a reader handles itself: `throttled` (too many calls or bytes), `expired` (the iterator is too old),
 * `gone` (the shard or the position is no longer in the stream), `busy` (another subscription holds the shard).
 */
export class StreamError extends Error {
  readonly reason: "throttled" | "expired" | "gone" | "busy";

  constructor(reason: StreamError["reason"], cause: unknown) {
    super(`the stream answers: ${reason}`, { cause });
    this.reason = reason;
  }
}
