/** The requests that reading topics takes, in the versions of Apache Kafka 3.1 and later. */
import type { BrokerAddress } from "../access.ts";
import type { Fetched, FetchRequest, Identity, PartitionName, TopicInfo } from "../broker-client.ts";
import { fetchBytes } from "../broker-client.ts";
import { BrokerError, failureOfPartition, isPassing, requireDone } from "../failures.ts";
import type { Call, WireReader } from "./wire.ts";

const readCommitted = 1;
const unknownTopicCode = 3;

export type Metadata = { readonly brokers: ReadonlyMap<number, BrokerAddress>; readonly topics: readonly TopicInfo[] };

/** Topics that do not exist, or cannot be told at the moment, are left out. */
export function metadata(names: readonly string[]): Call<Metadata> {
  return {
    key: 3,
    version: 12,
    write: (to) =>
      void to
        .array(names, (name) => to.uuid(null).string(name).noTags())
        .boolean(false)
        .boolean(false)
        .noTags(),
    read: (from) => {
      from.int32();
      const brokers = from.array(() => {
        const broker = [from.int32(), { host: from.string(), port: from.int32() }] as const;
        from.nullableString();
        from.tags();
        return broker;
      });
      from.nullableString();
      from.int32();
      const topics = from.array(() => readTopic(from));
      return { brokers: new Map(brokers), topics: topics.filter((topic) => topic !== undefined) };
    },
  };
}

function readTopic(from: WireReader): TopicInfo | undefined {
  const errorCode = from.int16();
  const name = from.nullableString();
  const id = from.uuid();
  from.int8();
  const partitions = from.array(() => {
    from.int16();
    const partition = from.int32();
    const leader = from.int32();
    from.int32();
    for (let list = 0; list < 3; list += 1) from.array(() => from.int32());
    from.tags();
    return { partition, leader };
  });
  from.int32();
  from.tags();
  if (name === null || errorCode === unknownTopicCode) return undefined;
  if (errorCode !== 0 && !isPassing(errorCode)) throw failureOfPartition(name, errorCode);
  if (errorCode !== 0) return undefined;
  return { name, id, partitions: partitions.sort((a, b) => a.partition - b.partition) };
}

/** `timestamp` in ms, or -2 for the first offset and -1 for the one behind the last. */
export function listOffsets(
  of: readonly PartitionName[],
  timestamp: number,
): Call<(PartitionName & { offset: number })[]> {
  return {
    key: 2,
    version: 7,
    write: (to) =>
      void to
        .int32(-1)
        .int8(readCommitted)
        .array(byTopic(of), ([name, list]) =>
          to
            .string(name)
            .array(list, ({ partition }) => to.int32(partition).int32(-1).int64(timestamp).noTags())
            .noTags(),
        )
        .noTags(),
    read: (from) => {
      from.int32();
      const topics = from.array(() => {
        const topic = from.string();
        const list = from.array(() => {
          const partition = from.int32();
          requireDone(from.int16(), "the offsets");
          from.int64();
          const offset = Number(from.int64());
          from.int32();
          from.tags();
          return { topic, partition, offset };
        });
        from.tags();
        return list;
      });
      return topics.flat();
    },
  };
}

/** Records stay bytes, in the memory given, and errors stay numbers. */
export function fetchRecords(
  wanted: readonly FetchRequest[],
  maxWaitMs: number,
  memory: Call<unknown>["memory"],
): Call<Fetched[]> {
  const names = new Map(wanted.map(({ topic, topicId }) => [topicId, topic]));
  return {
    key: 1,
    version: 13,
    memory,
    write: (to) =>
      void to
        .int32(-1)
        .int32(maxWaitMs)
        .int32(1)
        .int32(fetchBytes.answer)
        .int8(readCommitted)
        .int32(0)
        .int32(-1)
        .array(byTopic(wanted), ([, list]) =>
          to
            .uuid((list[0] as FetchRequest).topicId)
            .array(list, ({ partition, position, bytes = fetchBytes.partition }) =>
              to.int32(partition).int32(-1).int64(position).int32(-1).int64(-1).int32(bytes).noTags(),
            )
            .noTags(),
        )
        .array([], () => {})
        .string("")
        .noTags(),
    read: (from) => {
      from.int32();
      const errorCode = from.int16();
      if (errorCode !== 0) throw failureOfPartition("", errorCode);
      from.int32();
      const topics = from.array(() => {
        const topic = names.get(from.uuid()) as string;
        const list = from.array(() => ({ topic, ...readPartition(from) }));
        from.tags();
        return list;
      });
      return topics.flat();
    },
  };
}

function readPartition(from: WireReader): Omit<Fetched, "topic"> {
  const partition = from.int32();
  const errorCode = from.int16();
  from.int64();
  const lastStable = Number(from.int64());
  const logStart = Number(from.int64());
  const aborted = from.array(() => {
    const transaction = { producerId: from.int64(), firstOffset: Number(from.int64()) };
    from.tags();
    return transaction;
  });
  from.int32();
  const records = from.bytes();
  from.tags();
  return { partition, errorCode, lastStable, logStart, aborted, records };
}

/** Where the group's coordinator is. */
export function findCoordinator(group: string): Call<BrokerAddress> {
  const groups = 0;
  return {
    key: 10,
    version: 4,
    write: (to) =>
      void to
        .int8(groups)
        .array([group], (name) => to.string(name))
        .noTags(),
    read: (from) => {
      from.int32();
      const [found] = from.array(() => {
        from.string();
        from.int32();
        const address = { host: from.string(), port: from.int32() };
        requireDone(from.int16(), "the group's coordinator");
        from.nullableString();
        from.tags();
        return address;
      });
      if (found === undefined) throw new BrokerError("the group's coordinator", undefined);
      return found;
    },
  };
}

export function commitOffsets(
  group: string,
  offsets: readonly (PartitionName & { offset: number })[],
  { generation, member, instance }: Identity,
): Call<void> {
  return {
    key: 8,
    version: 8,
    write: (to) =>
      void to
        .string(group)
        .int32(generation)
        .string(member)
        .string(instance)
        .array(byTopic(offsets), ([name, list]) =>
          to
            .string(name)
            .array(list, ({ partition, offset }) => to.int32(partition).int64(offset).int32(-1).string(null).noTags())
            .noTags(),
        )
        .noTags(),
    read: (from) => {
      from.int32();
      from.array(() => {
        from.string();
        from.array(() => {
          from.int32();
          requireDone(from.int16(), "the group's offsets");
          from.tags();
        });
        from.tags();
      });
    },
  };
}

export function byTopic<T extends PartitionName>(of: readonly T[]): [string, T[]][] {
  return [...Map.groupBy(of, ({ topic }) => topic)];
}
