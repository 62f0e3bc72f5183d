/** A cluster behind the requests of the Kafka protocol, without group membership and without decoding records. */
import {
  type Connection,
  ConnectionPool,
  compressionsAlgorithms,
  createAPI,
  fetchV13,
  findCoordinatorV4,
  listOffsetsV7,
  metadataV12,
  offsetCommitV8,
  type Reader,
} from "@platformatic/kafka";
import type { Access, BrokerAddress } from "./access.ts";
import {
  type BrokerClient,
  type Fetched,
  type FetchRequest,
  fetchBytes,
  type Identity,
  type OffsetAt,
  type PartitionName,
  type TopicInfo,
} from "./broker-client.ts";
import { failureOfPartition, isPassing, sourceError } from "./failures.ts";

const readCommitted = 1;
const groupKind = 0;

type Metadata = { readonly brokers: ReadonlyMap<number, BrokerAddress>; readonly topics: readonly TopicInfo[] };
type Answered<T> = { readonly response?: T };

export class KafkaClient implements BrokerClient {
  readonly #access: Access;
  readonly #pool: ConnectionPool;
  /** A fetch waits at the broker, and what is asked behind it on the same connection waits with it. */
  readonly #fetchPool: ConnectionPool;
  #brokers: ReadonlyMap<number, BrokerAddress> = new Map();
  #topics = new Map<string, TopicInfo>();
  #coordinator: BrokerAddress | undefined;

  readonly decompress = {
    snappy: (data: Buffer) => compressionsAlgorithms.snappy.decompressSync(data),
    lz4: (data: Buffer) => compressionsAlgorithms.lz4.decompressSync(data),
  };

  constructor(access: Access, clientId: string) {
    this.#access = access;
    this.#pool = new ConnectionPool(clientId, access.options);
    this.#fetchPool = new ConnectionPool(clientId, access.options);
  }

  async topics(names: readonly string[]): Promise<readonly TopicInfo[]> {
    return await orSourceError(async () => {
      const { brokers, topics } = await this.#metadata(names);
      this.#brokers = brokers;
      for (const topic of topics) this.#topics.set(topic.name, topic);
      return topics;
    });
  }

  async offsets(of: readonly PartitionName[], at: OffsetAt) {
    const timestamp = BigInt(at === "earliest" ? -2 : at === "latest" ? -1 : at);
    return await orSourceError(async () => {
      const found: (PartitionName & { offset: number })[] = [];
      for (const [leader, partitions] of this.#byLeader(of)) {
        const connection = await this.#connection(this.#pool, leader);
        const topics = byTopic(partitions).map(([name, list]) => ({
          name,
          partitions: list.map(({ partition }) => ({ partitionIndex: partition, currentLeaderEpoch: -1, timestamp })),
        }));
        const answer = await listOffsetsV7.api.async(connection, -1, readCommitted, topics);
        for (const { name, partitions: list } of answer.topics) {
          for (const { partitionIndex, offset } of list) {
            found.push({ topic: name, partition: partitionIndex, offset: Number(offset) });
          }
        }
      }
      return found;
    });
  }

  async fetch(broker: number, wanted: readonly FetchRequest[], maxWaitMs: number): Promise<readonly Fetched[]> {
    return await orSourceError(async () => {
      const connection = await this.#connection(this.#fetchPool, broker);
      const topics = byTopic(wanted).map(([, list]) => ({
        topicId: (list[0] as FetchRequest).topicId,
        partitions: list.map(({ partition, position }) => ({
          partition,
          currentLeaderEpoch: -1,
          fetchOffset: BigInt(position),
          lastFetchedEpoch: -1,
          partitionMaxBytes: fetchBytes.partition,
        })),
      }));
      const answer = await fetchRaw.async(
        connection,
        maxWaitMs,
        1,
        fetchBytes.answer,
        readCommitted,
        0,
        -1,
        topics,
        [],
        "",
      );
      const names = new Map(wanted.map(({ topic, topicId }) => [topicId, topic]));
      return answer.partitions.map(({ topicId, ...rest }) => ({ ...rest, topic: names.get(topicId) as string }));
    });
  }

  async commit(
    group: string,
    offsets: readonly (PartitionName & { offset: number })[],
    as: Identity = { generation: -1, member: "", instance: null },
  ): Promise<void> {
    await orSourceError(async () => {
      try {
        this.#coordinator ??= await this.#findCoordinator(group);
        const connection = await this.#pool.get(this.#coordinator);
        const topics = byTopic(offsets).map(([name, list]) => ({
          name,
          partitions: list.map(({ partition, offset }) => ({
            partitionIndex: partition,
            committedOffset: BigInt(offset),
            committedLeaderEpoch: -1,
            committedMetadata: null,
          })),
        }));
        await offsetCommitV8.api.async(connection, group, as.generation, as.member, as.instance, topics);
      } catch (error) {
        this.#coordinator = undefined;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#pool.close(), this.#fetchPool.close()]);
  }

  async #metadata(names: readonly string[]): Promise<Metadata> {
    const known = [...this.#brokers.values()];
    const connection = await this.#pool.getFirstAvailable([...known, ...this.#access.brokers]);
    const answer = await metadataV12.api
      .async(
        connection,
        names.map((name) => ({ name })),
        false,
        false,
      )
      .catch((error: Answered<Awaited<ReturnType<typeof metadataV12.api.async>>>) => {
        // Errors of single topics come with the rest of the answer.
        if (error.response === undefined) throw error;
        return error.response;
      });
    const topics: TopicInfo[] = [];
    for (const { name, topicId, errorCode, partitions } of answer.topics) {
      if (typeof name !== "string" || errorCode === 3) continue;
      if (errorCode !== 0 && !isPassing(errorCode)) throw failureOfPartition(name, errorCode);
      if (errorCode !== 0) continue;
      const list = partitions.map(({ partitionIndex, leaderId }) => ({ partition: partitionIndex, leader: leaderId }));
      topics.push({ name, id: topicId, partitions: list.sort((a, b) => a.partition - b.partition) });
    }
    return { brokers: new Map(answer.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }])), topics };
  }

  async #findCoordinator(group: string): Promise<BrokerAddress> {
    const connection = await this.#pool.getFirstAvailable([...this.#brokers.values(), ...this.#access.brokers]);
    const { coordinators } = await findCoordinatorV4.api.async(connection, groupKind, [group]);
    const [found] = coordinators;
    if (found === undefined) throw new Error("the group has no coordinator");
    return { host: found.host, port: found.port };
  }

  async #connection(pool: ConnectionPool, broker: number): Promise<Connection> {
    const address = this.#brokers.get(broker);
    if (address === undefined) throw new Error("the leader of a partition is not known");
    return await pool.get(address);
  }

  #byLeader<T extends PartitionName>(of: readonly T[]): Map<number, T[]> {
    const groups = new Map<number, T[]>();
    for (const name of of) {
      const partitions = this.#topics.get(name.topic)?.partitions ?? [];
      const leader = partitions.find(({ partition }) => partition === name.partition)?.leader ?? -1;
      groups.set(leader, [...(groups.get(leader) ?? []), name]);
    }
    return groups;
  }
}

function byTopic<T extends PartitionName>(of: readonly T[]): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const name of of) groups.set(name.topic, [...(groups.get(name.topic) ?? []), name]);
  return [...groups];
}

async function orSourceError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw sourceError(error);
  }
}

/** The library's request with an answer that keeps records as bytes and errors as numbers. */
const fetchRaw = createAPI<FetchArguments, { partitions: RawPartition[] }>(1, 13, fetchV13.createRequest, parseFetched);

type FetchArguments = Parameters<typeof fetchV13.createRequest>;
type RawPartition = Omit<Fetched, "topic"> & { readonly topicId: string };

function parseFetched(_correlationId: number, _key: number, _version: number, reader: Reader) {
  reader.readInt32();
  const errorCode = reader.readInt16();
  if (errorCode !== 0) throw failureOfPartition("", errorCode);
  reader.readInt32();
  const topics = reader.readArray((r) => {
    const topicId = r.readUUID();
    return r.readArray((part) => parsePartition(part, topicId), true, false);
  });
  return { partitions: topics.flat() };
}

function parsePartition(reader: Reader, topicId: string): RawPartition {
  const partition = reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt64();
  const lastStable = Number(reader.readInt64());
  const logStart = Number(reader.readInt64());
  const aborted = reader.readNullableArray((r) => ({
    producerId: r.readInt64(),
    firstOffset: Number(r.readInt64()),
  }));
  reader.readInt32();
  // The length is written one larger; zero stands for none at all.
  const size = Math.max(0, reader.readUnsignedVarInt() - 1);
  const records = size === 0 ? [] : reader.buffer.subarray(reader.position, reader.position + size).buffers;
  reader.skip(size);
  reader.readTaggedFields();
  return { topicId, partition, errorCode, lastStable, logStart, aborted: aborted ?? [], records };
}
