/**
 * A replica as a member of the consumer group: tools show who reads which partition, commits carry the member's
 * generation, and another program cannot slip into the group, because it does not know our protocol. Membership decides
 * nothing: partitions belong to replicas by their share (`src/lib/share.ts`), and no rebalance interrupts an insert.
 */
import { Consumer, type ConsumerOptions, type GroupPartitionsAssigner } from "@platformatic/kafka";
import { sleep } from "../../lib/abort.ts";
import { shareOf } from "../../lib/share.ts";
import { settledWithin } from "../../lib/within.ts";
import type { Access } from "./access.ts";
import type { Identity } from "./broker-client.ts";
import { laneOf } from "./positions.ts";

const protocol = "millrace";
/** A member that died is forgotten after this time; its successor takes its place at once, by its instance id. */
const sessionMs = 20_000;
const heartbeatMs = 3_000;
const rejoinPauseMs = 5_000;
const leaveWithinMs = 2_000;

export type MembershipOptions = {
  readonly access: Access;
  readonly group: string;
  readonly topics: readonly string[];
  readonly pipeId: string;
  readonly replica: { readonly index: number; readonly count: number };
  /** The group's members have changed, this often since the start. */
  readonly onRebalance: (count: number) => void;
};

type Replica = MembershipOptions["replica"];

export class Membership {
  readonly #consumer: Consumer;
  readonly #topics: readonly string[];
  readonly #instance: string;
  readonly #left = new AbortController();
  #rebalances = 0;

  constructor({ access, group, topics, pipeId, replica, onRebalance }: MembershipOptions) {
    this.#topics = topics;
    this.#instance = `millrace-${pipeId}-${replica.index}`;
    const options: ConsumerOptions<Buffer, Buffer, Buffer, Buffer> = {
      ...access.options,
      clientId: this.#instance,
      bootstrapBrokers: access.brokers.map(({ host, port }) => ({ host, port })),
      groupId: group,
      groupInstanceId: this.#instance,
      protocols: [{ name: protocol, version: 1, metadata: JSON.stringify(replica) }],
      partitionAssigner: assign,
      sessionTimeout: sessionMs,
      rebalanceTimeout: sessionMs,
      heartbeatInterval: heartbeatMs,
    };
    this.#consumer = new Consumer(options);
    this.#consumer.on("consumer:group:join", () => {
      this.#rebalances += 1;
      onRebalance(this.#rebalances);
    });
    // Membership can be lost at any time; `#stay` joins again.
    this.#consumer.on("error", () => {});
    void this.#stay();
  }

  /** Undefined while the replica is not a member. */
  identity(): Identity | undefined {
    const { memberId, generationId } = this.#consumer;
    if (memberId === null || !this.#consumer.isActive()) return undefined;
    return { generation: generationId, member: memberId, instance: this.#instance };
  }

  /** Leaves the group, if the broker still answers. */
  async leave(): Promise<void> {
    this.#left.abort();
    await settledWithin(this.#consumer.close(true), leaveWithinMs);
  }

  async #stay(): Promise<void> {
    this.#consumer.topics.trackAll(...this.#topics);
    while (!this.#left.signal.aborted) {
      if (!this.#consumer.isActive()) await this.#consumer.joinGroup({}).catch(() => {});
      await sleep(rejoinPauseMs, this.#left.signal);
    }
  }
}

/** What the replicas read anyway, as tools want to be told by the group's leader. */
const assign: GroupPartitionsAssigner = (_leader, members, topics, metadata) => {
  const replicas = [...members].map(([memberId, { metadata: own }]) => ({ memberId, replica: replicaOf(own) }));
  return replicas.map(({ memberId, replica }) => ({
    memberId,
    assignments: new Map(
      [...topics].map((topic) => {
        const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
        const all = Array.from({ length: count }, (_, partition) => partition);
        const partitions = all.filter((partition) => owns(replica, laneOf(topic, partition)));
        return [topic, { topic, partitions }];
      }),
    ),
  }));
};

function owns(replica: Replica | undefined, lane: string): boolean {
  return replica !== undefined && shareOf(lane, replica.count) === replica.index;
}

/** Undefined for what no replica of ours has written. */
function replicaOf(metadata: Buffer | string | undefined): Replica | undefined {
  try {
    const { index, count } = JSON.parse(String(metadata)) as Replica;
    return Number.isInteger(index) && Number.isInteger(count) && count > 0 ? { index, count } : undefined;
  } catch {
    return undefined;
  }
}
