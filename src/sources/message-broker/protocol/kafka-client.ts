/** A cluster accessed by the Kafka protocol, without group membership and without decoding records. */
import { setTimeout as delay } from "node:timers/promises";
import type { BrokerAccess, BrokerAddress } from "../access.ts";
import type {
  AnswerMemory,
  BrokerClient,
  FetchedPartition,
  FetchRequest,
  Identity,
  OffsetAt,
  PartitionName,
  TopicInfo,
} from "../broker-client.ts";
import { brokerSourceError, damagedRecords } from "../failures.ts";
import type { Connection } from "./connection.ts";
import { BrokerConnections } from "./connections.ts";
import { decompress } from "./decompress.ts";
import { deleteGroup } from "./group-requests.ts";
import { damagedBatch } from "./records.ts";
import {
  commitOffsets,
  fetchOffsets,
  fetchRecords,
  findCoordinator,
  listOffsets,
  type Metadata,
  metadata,
} from "./requests.ts";
import type { Lent } from "./shared-connections.ts";

/** Records may be damaged in transit, which a retry fixes, or in the broker's storage, which it does not. */
const fetchAttempts = 3;
const damagedPauseMs = 200;

export class KafkaClient implements BrokerClient {
  readonly #seeds: readonly BrokerAddress[];
  readonly #connections: BrokerConnections;
  readonly #release: () => void;
  readonly #lent: Lent | undefined;
  /** A fetch waits at the broker, and later requests on the same connection wait with it. */
  readonly #fetching: BrokerConnections;
  #brokers: ReadonlyMap<number, BrokerAddress> = new Map();
  #topics = new Map<string, TopicInfo>();
  #coordinator: BrokerAddress | undefined;
  #clusterId: string | null = null;

  readonly decompress = decompress;

  /** With `lent` connections, short requests use those. */
  constructor(access: BrokerAccess, clientId: string, lent?: Lent) {
    this.#seeds = access.brokers;
    this.#lent = lent;
    this.#connections = lent?.connections ?? new BrokerConnections(access, clientId);
    this.#release = () => (lent === undefined ? this.#connections.close() : lent.release());
    this.#fetching = new BrokerConnections(access, clientId);
  }

  async topics(names: readonly string[]): Promise<readonly TopicInfo[]> {
    return await this.#metadata(names);
  }

  /** All topics that may be seen, without those of the cluster itself. */
  async allTopics(): Promise<readonly TopicInfo[]> {
    return (await this.#metadata(undefined)).filter(({ isInternal }) => !isInternal);
  }

  async #metadata(names: readonly string[] | undefined): Promise<Metadata["topics"]> {
    return await orSourceError(async () => {
      const asking = names === undefined ? undefined : this.#lent?.metadata(names);
      const { brokers, clusterId, topics } = await (asking ?? (await this.#anyBroker()).send(metadata(names)));
      this.#brokers = brokers;
      this.#clusterId = clusterId;
      for (const topic of topics) this.#topics.set(topic.name, topic);
      return topics;
    });
  }

  get clusterId(): string | null {
    return this.#clusterId;
  }

  async offsets(of: readonly PartitionName[], at: OffsetAt) {
    const timestamp = at === "earliest" ? -2 : at === "latest" ? -1 : at;
    return await orSourceError(async () => {
      const found: (PartitionName & { offset: number })[] = [];
      for (const [leader, partitions] of this.#byLeader(of)) {
        const connection = await this.#connections.get(this.#addressOf(leader));
        found.push(...(await connection.send(listOffsets(partitions, timestamp))));
      }
      return found;
    });
  }

  async fetch(
    broker: number,
    wanted: readonly FetchRequest[],
    maxWaitMs: number,
    memory?: AnswerMemory,
  ): Promise<readonly FetchedPartition[]> {
    return await orSourceError(async () => {
      for (let attempt = 1; ; attempt += 1) {
        const connection = await this.#fetching.get(this.#addressOf(broker));
        const request = fetchRecords(wanted, maxWaitMs, memory && ((bytes) => memory.take(bytes)));
        const fetched = await connection.send(request);
        const damaged = fetched.find(({ records }) => damagedBatch(records) !== undefined);
        if (damaged === undefined) return fetched;
        if (attempt === fetchAttempts) throw damagedRecords(damaged, damagedBatch(damaged.records), fetchAttempts);
        await delay(damagedPauseMs);
      }
    });
  }

  async commit(
    group: string,
    offsets: readonly (PartitionName & { offset: number })[],
    as: Identity = { generation: -1, member: "", instance: null },
  ): Promise<void> {
    await orSourceError(async () => {
      try {
        this.#coordinator ??= await (await this.#anyBroker()).send(findCoordinator(group));
        const connection = await this.#connections.get(this.#coordinator);
        await connection.send(commitOffsets(group, offsets, as));
      } catch (error) {
        this.#coordinator = undefined;
        throw error;
      }
    });
  }

  async committed(group: string, of: readonly PartitionName[]) {
    return await orSourceError(async () => {
      const coordinator = await (await this.#anyBroker()).send(findCoordinator(group));
      return await (await this.#connections.get(coordinator)).send(fetchOffsets(group, of));
    });
  }

  /** Deletes a consumer group, if it is there. Refused while it has members. */
  async deleteGroup(group: string): Promise<void> {
    await orSourceError(async () => {
      const coordinator = await (await this.#anyBroker()).send(findCoordinator(group));
      await (await this.#connections.get(coordinator)).send(deleteGroup(group));
    });
  }

  async close(): Promise<void> {
    this.#release();
    this.#fetching.close();
  }

  async #anyBroker(): Promise<Connection> {
    return await this.#connections.any([...this.#brokers.values(), ...this.#seeds]);
  }

  #addressOf(broker: number): BrokerAddress {
    const address = this.#brokers.get(broker);
    if (address === undefined) throw new Error("the leader of a partition is not known");
    return address;
  }

  #byLeader<T extends PartitionName>(of: readonly T[]): Map<number, T[]> {
    return Map.groupBy(of, (name) => {
      const partitions = this.#topics.get(name.topic)?.partitions ?? [];
      return partitions.find(({ partition }) => partition === name.partition)?.leader ?? -1;
    });
  }
}

async function orSourceError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw brokerSourceError(error);
  }
}
