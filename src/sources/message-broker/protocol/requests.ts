/** The requests for reading topics. `versions.ts` lists their versions. */
import type { BrokerAddress } from "../access.ts";
import type { FetchedPartition, FetchRequest, Identity, PartitionName, TopicInfo } from "../broker-client.ts";
import { fetchBytes, noTopicId } from "../broker-client.ts";
import { BrokerError, failureOfPartition, requireDone } from "../failures.ts";
import type { Call } from "./call.ts";
import { isPassing, kafkaCodes } from "./error-codes.ts";
import { apis } from "./versions.ts";
import type { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

/** The replica id of a consumer; a follower would send its own id. */
const noReplica = -1;
const noLeaderEpoch = -1;
const readCommitted = 1;
/** Time for a broker to look up an offset in its remote storage. */
const remoteTimeoutMs = 20_000;
const lastFetchByName = 12;
/** A batch of records is sent whole, however little was asked for. */
const maxFetchedBytes = 256 * 2 ** 20;
/** More than the end markers that fit into an answer. */
const maxAborts = 200_000;

export type Metadata = {
  readonly brokers: ReadonlyMap<number, BrokerAddress>;
  /** Null when the cluster has none. */
  readonly clusterId: string | null;
  readonly topics: readonly (TopicInfo & { readonly isInternal: boolean })[];
};

/** Topics that are missing or currently unavailable are left out. Without names: all topics that may be seen. */
export function metadata(names: readonly string[] | undefined): Call<Metadata> {
  return {
    api: apis.metadata,
    write: (to, version) => {
      if (names === undefined) to.noArray();
      else {
        to.array(names, (name) => {
          if (version >= 10) to.uuid(null);
          to.string(name).noTags();
        });
      }
      to.boolean(false); // allowAutoTopicCreation
      if (version >= 8 && version <= 10) to.boolean(false); // includeClusterAuthorizedOperations
      if (version >= 8) to.boolean(false); // includeTopicAuthorizedOperations
      to.noTags();
    },
    read: (from, version) => {
      from.int32(); // throttleTimeMs
      const brokers = from.array(() => {
        const broker = [from.int32(), { host: from.string(), port: from.int32() }] as const;
        from.nullableString(); // rack
        from.tags();
        return broker;
      });
      const clusterId = from.nullableString();
      from.int32(); // controllerId
      const topics = from.array(() => readTopic(from, version));
      if (version >= 8 && version <= 10) from.int32(); // clusterAuthorizedOperations
      if (version >= 13) requireDone(from.int16(), "the topics");
      return { brokers: new Map(brokers), clusterId, topics: topics.filter((topic) => topic !== undefined) };
    },
  };
}

function readTopic(from: KafkaWireReader, version: number): Metadata["topics"][number] | undefined {
  const errorCode = from.int16();
  const name = from.nullableString();
  const id = version >= 10 ? from.uuid() : noTopicId;
  const isInternal = from.int8() !== 0;
  const partitions = from.array(() => {
    from.int16(); // errorCode: without a leader, which is then -1, or with missing replicas
    const partition = from.int32();
    const leader = from.int32();
    if (version >= 7) from.int32(); // leaderEpoch
    from.array(() => from.int32()); // replicaNodes
    from.array(() => from.int32()); // isrNodes
    if (version >= 5) from.array(() => from.int32()); // offlineReplicas
    from.tags();
    return { partition, leader };
  });
  if (version >= 8) from.int32(); // topicAuthorizedOperations
  from.tags();
  if (name === null || errorCode === kafkaCodes.UNKNOWN_TOPIC_OR_PARTITION) return undefined;
  if (errorCode !== 0 && !isPassing(errorCode)) throw failureOfPartition(name, errorCode);
  if (errorCode !== 0) return undefined;
  return { name, id, isInternal, partitions: partitions.sort((a, b) => a.partition - b.partition) };
}

/** `timestamp` in ms, or -2 for the first offset and -1 for the one after the last. */
export function listOffsets(
  of: readonly PartitionName[],
  timestamp: number,
): Call<(PartitionName & { offset: number })[]> {
  return {
    api: apis.listOffsets,
    write: (to, version) => {
      to.int32(noReplica).int8(readCommitted);
      to.array(byTopic(of), ([name, list]) => {
        to.string(name).array(list, ({ partition }) => {
          to.int32(partition);
          if (version >= 4) to.int32(noLeaderEpoch);
          to.int64(timestamp).noTags();
        });
        to.noTags();
      });
      if (version >= 10) to.int32(remoteTimeoutMs);
      to.noTags();
    },
    read: (from, version) => {
      from.int32(); // throttleTimeMs
      const topics = from.array(() => {
        const topic = from.string();
        const list = from.array(() => {
          const partition = from.int32();
          requireDone(from.int16(), "the offsets");
          from.int64(); // timestamp
          const offset = from.offset();
          if (version >= 4) from.int32(); // leaderEpoch
          from.tags();
          return { topic, partition, offset };
        });
        from.tags();
        return list;
      });
      return onlyAsked(topics.flat(), of);
    },
  };
}

/** Records stay bytes, in the given memory, and errors stay numbers. */
export function fetchRecords(
  wanted: readonly FetchRequest[],
  maxWaitMs: number,
  memory: Call<unknown>["memory"],
): Call<FetchedPartition[]> {
  const names = new Map(wanted.map(({ topic, topicId }) => [topicId, topic]));
  return {
    api: apis.fetch,
    // Later versions identify topics only by id.
    ...(names.has(noTopicId) ? { newest: lastFetchByName } : {}),
    memory,
    maxBytes: maxFetchedBytes,
    write: (to, version) => {
      if (version <= 14) to.int32(noReplica);
      to.int32(maxWaitMs);
      to.int32(1); // minBytes
      to.int32(fetchBytes.answer).int8(readCommitted);
      if (version >= 7) to.int32(0).int32(-1); // sessionId and sessionEpoch: without a session
      to.array(byTopic(wanted), ([name, list]) => {
        if (version > lastFetchByName) to.uuid((list[0] as FetchRequest).topicId);
        else to.string(name);
        to.array(list, (request) => writePartition(to, request, version)).noTags();
      });
      if (version >= 7) to.array([], () => {}); // forgottenTopicsData
      if (version >= 11) to.string(""); // rackId
      to.noTags();
    },
    read: (from, version) => {
      from.int32(); // throttleTimeMs
      const errorCode = version >= 7 ? from.int16() : 0;
      if (errorCode !== 0) throw failureOfPartition("", errorCode);
      if (version >= 7) from.int32(); // sessionId
      const topics = from.array(() => {
        const topic = version > lastFetchByName ? (names.get(from.uuid()) ?? "") : from.string();
        const list = from.array(() => ({ topic, ...readPartition(from, version) }));
        from.tags();
        return list;
      });
      return onlyAsked(topics.flat(), wanted);
    },
  };
}

/** Throws RangeError for a partition that was not asked for, or is answered twice: its records would be doubled. */
function onlyAsked<T extends PartitionName>(answered: T[], asked: readonly PartitionName[]): T[] {
  const left = new Set(asked.map(laneOf));
  for (const one of answered) {
    if (!left.delete(laneOf(one))) throw new RangeError("an answer for a partition that was not asked for");
  }
  return answered;
}

function laneOf({ topic, partition }: PartitionName): string {
  return `${topic}/${partition}`;
}

function writePartition(to: KafkaWireWriter, request: FetchRequest, version: number): void {
  const { partition, position, bytes = fetchBytes.partition } = request;
  to.int32(partition);
  if (version >= 9) to.int32(noLeaderEpoch);
  to.int64(position);
  if (version >= 12) to.int32(noLeaderEpoch); // lastFetchedEpoch
  if (version >= 5) to.int64(-1); // logStartOffset, of followers
  to.int32(bytes).noTags();
}

function readPartition(from: KafkaWireReader, version: number): Omit<FetchedPartition, "topic"> {
  const partition = from.int32();
  const errorCode = from.int16();
  from.int64(); // highWatermark
  const lastStable = from.offset();
  if (version >= 5) from.int64(); // logStartOffset
  let aborts = 0;
  const aborted = from.array(() => {
    aborts += 1;
    if (aborts > maxAborts) throw new RangeError("more aborted transactions than records");
    const transaction = { producerId: from.int64(), firstOffset: from.offset() };
    from.tags();
    return transaction;
  });
  if (version >= 11) from.int32(); // preferredReadReplica
  const records = from.bytes();
  from.tags();
  return { partition, errorCode, lastStable, aborted, records };
}

/** Finds the group's coordinator. */
export function findCoordinator(group: string): Call<BrokerAddress> {
  const groups = 0;
  return {
    api: apis.findCoordinator,
    write: (to, version) => {
      if (version < 4) to.string(group);
      to.int8(groups);
      if (version >= 4) to.array([group], (name) => to.string(name));
      to.noTags();
    },
    read: (from, version) => {
      from.int32(); // throttleTimeMs
      const [found] = version < 4 ? [readCoordinator(from)] : from.array(() => readNamedCoordinator(from));
      if (found === undefined) throw new BrokerError("the group's coordinator", undefined);
      return found;
    },
  };
}

function readCoordinator(from: KafkaWireReader): BrokerAddress {
  requireDone(from.int16(), "the group's coordinator");
  from.nullableString(); // errorMessage
  from.int32(); // nodeId
  return { host: from.string(), port: from.int32() };
}

function readNamedCoordinator(from: KafkaWireReader): BrokerAddress {
  from.string(); // key: the group
  from.int32(); // nodeId
  const address = { host: from.string(), port: from.int32() };
  requireDone(from.int16(), "the group's coordinator");
  from.nullableString(); // errorMessage
  from.tags();
  return address;
}

export function commitOffsets(
  group: string,
  offsets: readonly (PartitionName & { offset: number })[],
  { generation, member, instance }: Identity,
): Call<void> {
  return {
    api: apis.offsetCommit,
    write: (to, version) => {
      to.string(group).int32(generation).string(member);
      if (version >= 7) to.string(instance);
      if (version <= 4) to.int64(-1); // retentionTimeMs: the broker's own
      to.array(byTopic(offsets), ([name, list]) => {
        to.string(name).array(list, ({ partition, offset }) => {
          to.int32(partition).int64(offset);
          if (version >= 6) to.int32(noLeaderEpoch);
          to.string(null).noTags(); // metadata
        });
        to.noTags();
      });
      to.noTags();
    },
    read: (from, version) => {
      if (version >= 3) from.int32(); // throttleTimeMs
      from.array(() => {
        from.string(); // topic
        from.array(() => {
          from.int32(); // partition
          requireDone(from.int16(), "the group's offsets");
          from.tags();
        });
        from.tags();
      });
    },
  };
}

/** The group's committed offsets; -1 for a partition without one. */
export function fetchOffsets(
  group: string,
  of: readonly PartitionName[],
): Call<(PartitionName & { offset: number })[]> {
  return {
    api: apis.offsetFetch,
    write: (to, version) => {
      to.string(group);
      to.array(byTopic(of), ([name, list]) => {
        to.string(name).array(list, ({ partition }) => to.int32(partition));
        to.noTags();
      });
      if (version >= 7) to.boolean(true); // requireStable: no offset of a transaction that is open
      to.noTags();
    },
    read: (from, version) => {
      if (version >= 3) from.int32(); // throttleTimeMs
      const topics = from.array(() => {
        const topic = from.string();
        const list = from.array(() => {
          const partition = from.int32();
          const offset = from.offset();
          if (version >= 5) from.int32(); // committedLeaderEpoch
          from.nullableString(); // metadata
          requireDone(from.int16(), "the group's offsets");
          from.tags();
          return { topic, partition, offset };
        });
        from.tags();
        return list;
      });
      requireDone(from.int16(), "the group's offsets");
      return onlyAsked(topics.flat(), of);
    },
  };
}

export function byTopic<T extends PartitionName>(of: readonly T[]): [string, T[]][] {
  return [...Map.groupBy(of, ({ topic }) => topic)];
}
