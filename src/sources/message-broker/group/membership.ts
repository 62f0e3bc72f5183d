/**
 * A replica as a member of the consumer group: tools show who reads which partition, commits carry the member's
 * generation, and another program cannot join the group, because it does not know our protocol. Membership determines
 * nothing: partitions belong to replicas by their share (`src/lib/assign.ts`), and no rebalance interrupts an insert.
 */
import { sleep } from "../../../lib/abort.ts";
import { assignedWorker } from "../../../lib/assign.ts";
import { parsedJson } from "../../../lib/json.ts";
import { settlesWithin } from "../../../lib/timeout.ts";
import type { BrokerAccess, BrokerAddress } from "../access.ts";
import type { Identity } from "../broker-client.ts";
import { BrokerError } from "../failures.ts";
import { laneOf } from "../positions.ts";
import type { Connection } from "../protocol/connection.ts";
import { BrokerConnections } from "../protocol/connections.ts";
import { kafkaCodes } from "../protocol/error-codes.ts";
import {
  assignment,
  heartbeat,
  type Joined,
  joinGroup,
  leaveGroup,
  subscription,
  syncGroup,
  wordsOf,
} from "../protocol/group-requests.ts";
import { findCoordinator, metadata } from "../protocol/requests.ts";

const protocol = "millrace";
/** The group drops a dead member after this time; its successor replaces it immediately, by its instance id. */
const sessionMs = 20_000;
/** Nothing waits for a rebalance: a third of the session is soon enough to notice one. */
const heartbeatMs = 6_000;
const rejoinPauseMs = 5_000;
/** A group that rebalances without end is asked a few times per second. */
const rebalancePauseMs = 300;
const leaveWithinMs = 2_000;

export type MembershipOptions = {
  readonly access: BrokerAccess;
  readonly group: string;
  readonly topics: readonly string[];
  readonly pipeId: string;
  readonly replica: { readonly index: number; readonly count: number };
  /** Called when the group's members have changed, with the number of changes since the start. */
  readonly onRebalance: (count: number) => void;
};

type Replica = MembershipOptions["replica"];

export class Membership {
  readonly #options: MembershipOptions;
  readonly #instance: string;
  readonly #connections: BrokerConnections;
  readonly #left = new AbortController();
  #coordinator: BrokerAddress | undefined;
  #identity: Identity | undefined;
  /** Our member id, also while we rejoin. */
  #member = "";
  #rebalances = 0;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#instance = `millrace-${options.pipeId}-${options.replica.index}`;
    this.#connections = new BrokerConnections(options.access, this.#instance);
    void this.#stay();
  }

  /** Undefined while the replica is not a member. */
  identity(): Identity | undefined {
    return this.#identity;
  }

  /** Leaves the group, if the broker still answers. */
  async leave(): Promise<void> {
    const identity = this.#identity;
    this.#left.abort();
    if (identity !== undefined) {
      const leaving = this.#atCoordinator().then((broker) => broker.send(leaveGroup(this.#options.group, identity)));
      await settlesWithin(leaving, leaveWithinMs);
    }
    this.#connections.close();
  }

  /** Membership can be lost at any time, and is restored until the end. */
  async #stay(): Promise<void> {
    while (!this.#left.signal.aborted) {
      try {
        this.#identity ??= await this.#join();
        await sleep(heartbeatMs, this.#left.signal);
        if (this.#left.signal.aborted) return;
        await (await this.#atCoordinator()).send(heartbeat(this.#options.group, this.#identity));
      } catch (error) {
        this.#identity = undefined;
        if (error instanceof BrokerError && error.errorCode === kafkaCodes.REBALANCE_IN_PROGRESS) {
          await sleep(rebalancePauseMs, this.#left.signal);
          continue;
        }
        this.#member = "";
        this.#coordinator = undefined;
        await sleep(rejoinPauseMs, this.#left.signal);
      }
    }
  }

  async #join(): Promise<Identity> {
    const { group, topics, replica } = this.#options;
    const connection = await this.#atCoordinator();
    const joined = await connection.send(
      joinGroup({
        group,
        member: this.#member,
        instance: this.#instance,
        protocol,
        metadata: subscription(topics, JSON.stringify(replica)),
        sessionMs,
      }),
    );
    this.#member = joined.member;
    const identity = { generation: joined.generation, member: joined.member, instance: this.#instance };
    const shares = joined.stays ? [] : await this.#shares(connection, joined.members);
    await connection.send(syncGroup(group, protocol, identity, shares));
    this.#rebalances += 1;
    this.#options.onRebalance(this.#rebalances);
    return identity;
  }

  async #atCoordinator(): Promise<Connection> {
    this.#coordinator ??= await (await this.#connections.any(this.#options.access.brokers)).send(
      findCoordinator(this.#options.group),
    );
    return await this.#connections.get(this.#coordinator);
  }

  /** The fixed shares of the replicas, in the form in which tools expect an assignment by the group's leader. */
  async #shares(connection: Connection, members: Joined["members"]) {
    if (members.length === 0) return [];
    const { topics } = await connection.send(metadata(this.#options.topics));
    return members.map(({ member, metadata: said }) => {
      const replica = replicaOf(wordsOf(said));
      const owned = topics.map(({ name, partitions }) => ({
        topic: name,
        partitions: partitions.map(({ partition }) => partition).filter((at) => owns(replica, laneOf(name, at))),
      }));
      return { member, content: assignment(owned.filter(({ partitions }) => partitions.length > 0)) };
    });
  }
}

function owns(replica: Replica | undefined, lane: string): boolean {
  return replica !== undefined && assignedWorker(lane, replica.count) === replica.index;
}

/** Undefined for metadata that no replica of ours has written. */
function replicaOf(words: string): Replica | undefined {
  const { index = NaN, count = 0 } = (parsedJson(words) ?? {}) as Partial<Replica>;
  return Number.isInteger(index) && Number.isInteger(count) && count > 0 ? { index, count } : undefined;
}
