/** What a pipe asks of a Kafka cluster. Everything throws AppError SOURCE_*. */
import type { AbortedTransaction, Decompress } from "./protocol/records.ts";

/** The protocol's own way to say that there is no id. */
export const noTopicId = "00000000-0000-0000-0000-000000000000";

/** Whether two ids of a name may belong to one topic: an id that is not known decides nothing. */
export function isSameTopic(one: string, other: string): boolean {
  return one === other || one === noTopicId || other === noTopicId;
}

export type TopicInfo = {
  readonly name: string;
  /** Another one when the topic was deleted and made again; `noTopicId` of brokers before Kafka 2.8. */
  readonly id: string;
  readonly partitions: readonly PartitionInfo[];
};

/** `leader` is a broker's id; negative while there is none. */
export type PartitionInfo = { readonly partition: number; readonly leader: number };

export type PartitionName = { readonly topic: string; readonly partition: number };

export type FetchRequest = PartitionName & {
  readonly topicId: string;
  readonly position: number;
  /** At most so many, but always one batch of records. */
  readonly bytes?: number;
};

export type Fetched = PartitionName & {
  /** Of the protocol; 0 is fine. */
  readonly errorCode: number;
  /** Offsets below are committed and can be read. */
  readonly lastStable: number;
  readonly aborted: readonly AbortedTransaction[];
  /** Record batches. The last one may be incomplete. */
  readonly records: Buffer;
};

/** Memory for answers, used again and again: every answer overwrites the one before. */
export class AnswerMemory {
  #memory: Buffer = Buffer.alloc(0);

  take(bytes: number): Buffer {
    if (bytes > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#memory.length));
    return this.#memory.subarray(0, bytes);
  }
}

/** Who commits, as the group knows its members. */
export type Identity = { readonly generation: number; readonly member: string; readonly instance: string | null };

export type OffsetAt = "earliest" | "latest" | number;

export interface BrokerClient {
  /** Topics that do not exist are left out. */
  topics(names: readonly string[]): Promise<readonly TopicInfo[]>;
  /** An offset per partition: the first, the one behind the last, or the first that is not older than a time in ms. */
  offsets(of: readonly PartitionName[], at: OffsetAt): Promise<readonly (PartitionName & { offset: number })[]>;
  /**
   * From one broker, which leads all of the partitions. Waits up to `maxWaitMs` for the first byte. The records lie in
   * the memory given, without it in memory of their own; checksums of complete batches are right.
   */
  fetch(
    broker: number,
    wanted: readonly FetchRequest[],
    maxWaitMs: number,
    memory?: AnswerMemory,
  ): Promise<readonly Fetched[]>;
  /** Sets the group's offsets, as a member of it, or as a consumer without membership, which a group with members refuses. */
  commit(group: string, offsets: readonly (PartitionName & { offset: number })[], as?: Identity): Promise<void>;
  readonly decompress: Decompress;
  close(): Promise<void>;
}

/** Reads of one broker: few enough bytes to hold several answers, large enough to keep it busy. */
export const fetchBytes = { answer: 16 * 2 ** 20, partition: 4 * 2 ** 20, first: 2 ** 20 };
