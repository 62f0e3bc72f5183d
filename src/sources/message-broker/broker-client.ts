/** What a pipe needs from a Kafka cluster. Every call throws AppError SOURCE_*. */
import type { AbortedTransaction, Decompress } from "./protocol/records.ts";

/** The protocol's value for a missing id. */
export const noTopicId = "00000000-0000-0000-0000-000000000000";

/** True when two ids of one name may belong to the same topic: an unknown id matches any. */
export function isSameTopic(one: string, other: string): boolean {
  return one === other || one === noTopicId || other === noTopicId;
}

export type TopicInfo = {
  readonly name: string;
  /** Changes when the topic is deleted and created again; `noTopicId` for brokers before Kafka 2.8. */
  readonly id: string;
  readonly partitions: readonly PartitionInfo[];
};

/** `leader` is a broker's id; negative while there is none. */
export type PartitionInfo = { readonly partition: number; readonly leader: number };

export type PartitionName = { readonly topic: string; readonly partition: number };

export type FetchRequest = PartitionName & {
  readonly topicId: string;
  readonly position: number;
  /** Maximum of bytes, but always at least one batch of records. */
  readonly bytes?: number;
};

export type FetchedPartition = PartitionName & {
  /** Error code of the protocol; 0 means success. */
  readonly errorCode: number;
  /** Offsets below are committed and can be read. */
  readonly lastStable: number;
  readonly aborted: readonly AbortedTransaction[];
  /** Record batches. The last one may be incomplete. */
  readonly records: Buffer;
};

/** Reusable memory for responses: every response overwrites the previous one. */
export class AnswerMemory {
  #memory: Buffer = Buffer.alloc(0);

  take(bytes: number): Buffer {
    if (bytes > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#memory.length));
    return this.#memory.subarray(0, bytes);
  }
}

/** The member that commits, as the group knows it. */
export type Identity = { readonly generation: number; readonly member: string; readonly instance: string | null };

export type OffsetAt = "earliest" | "latest" | number;

export interface BrokerClient {
  /** Missing topics are left out. */
  topics(names: readonly string[]): Promise<readonly TopicInfo[]>;
  /** An offset per partition: the first, the one after the last, or the first that is not older than a time in ms. */
  offsets(of: readonly PartitionName[], at: OffsetAt): Promise<readonly (PartitionName & { offset: number })[]>;
  /**
   * From one broker, which leads all of the partitions. Waits up to `maxWaitMs` for the first byte. The records are in
   * the given memory, or in newly allocated memory; checksums of complete batches are verified.
   */
  fetch(
    broker: number,
    wanted: readonly FetchRequest[],
    maxWaitMs: number,
    memory?: AnswerMemory,
  ): Promise<readonly FetchedPartition[]>;
  /**
   * Commits the group's offsets, as a member, or as a consumer without membership, which a group with members refuses.
   */
  commit(group: string, offsets: readonly (PartitionName & { offset: number })[], as?: Identity): Promise<void>;
  /** The offsets that a group has committed; -1 for a partition without one. */
  committed(group: string, of: readonly PartitionName[]): Promise<readonly (PartitionName & { offset: number })[]>;
  /** As in the last answer to `topics`; null before it, and for a cluster without an id. */
  readonly clusterId: string | null;
  readonly decompress: Decompress;
  close(): Promise<void>;
}

/** Size of reads from one broker: small enough to hold several responses, large enough to keep it busy. */
export const fetchBytes = { answer: 16 * 2 ** 20, partition: 4 * 2 ** 20, first: 2 ** 20 };
