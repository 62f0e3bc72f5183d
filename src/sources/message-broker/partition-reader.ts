/**
 * Reads the partitions of one replica: finds their leaders, fetches from all brokers concurrently, and adds messages to
 * lanes as long as there is room. It stops at the first permanent failure.
 */
import { abortable, sleep } from "../../lib/abort.ts";
import { assignedWorker } from "../../lib/assign.ts";
import { AppError, publicMessage } from "../../lib/errors.ts";
import { untilTick } from "../../lib/ticks.ts";
import type { SourceContext } from "../contract/source.ts";
import type { RowEncoder } from "../messages/formats/encoder.ts";
import type { LaneBatches } from "../messages/lane-batches.ts";
import {
  AnswerMemory,
  type BrokerClient,
  type FetchedPartition,
  fetchBytes,
  isSameTopic,
  noTopicId,
  type TopicInfo,
} from "./broker-client.ts";
import type { Checkpoint, KafkaDurable } from "./declaration/durable.ts";
import { brokerSourceError, failureOfPartition, unknownTopic } from "./failures.ts";
import type { Lag } from "./lag.ts";
import { beginnings, laneOf, type StartPosition } from "./positions.ts";
import { isPassing, kafkaCodes, nameOf } from "./protocol/error-codes.ts";
import { emptyMessage, type KafkaMessage, offsetBehind, RecordCursor } from "./protocol/records.ts";
import { brokerKey, partitionKey, type Troubles } from "./troubles.ts";

/** Maximum delay until new partitions and topics are detected. The pipes of a worker look at the same time. */
const metadataEveryMs = 5_000;
const settlePauseMs = 200;
const fetchWaitMs = 500;
/** Pause after an answer without records that did not wait for any: a broker must not keep the worker busy. */
const emptyPauseMs = 100;
/**
 * Longest wait at a broker whose partitions are all read to their ends: it answers as soon as one of them has a record,
 * and an idle pipe takes little time of its worker.
 */
const idleWaitMs = 5_000;

export type Partition = {
  readonly lane: string;
  readonly topic: string;
  topicId: string;
  readonly partition: number;
  leader: number;
  /** The offset after everything that was decoded. */
  position: number;
  /** Offset of the next fetch: past the position while a response is decoded. */
  ahead: number;
  /** Fetches in progress, and responses that are being decoded. */
  busy: number;
};

type Asked = {
  readonly partitions: readonly Partition[];
  readonly answer: Promise<readonly FetchedPartition[]>;
  /** A time of `performance.now`. */
  readonly since: number;
  /** Pause after an answer without records that came at once. */
  readonly pauseMs: number;
};

export type ReaderParts = {
  readonly client: BrokerClient;
  readonly topics: readonly string[];
  readonly start: StartPosition;
  readonly context: SourceContext<KafkaDurable>;
  readonly encoder: RowEncoder<KafkaMessage>;
  readonly batches: LaneBatches<KafkaMessage>;
  readonly lag: Lag;
  readonly troubles: Troubles;
};

export class PartitionReader {
  readonly #parts: ReaderParts;
  readonly #checkpoints: ReadonlyMap<string, Checkpoint>;
  readonly #signal: AbortSignal;
  readonly #troubles: Troubles;
  readonly #partitions = new Map<string, Partition>();
  /** Topics whose beginning is saved. */
  readonly #begun = new Set<string>();
  readonly #loops = new Map<number, Promise<void>>();
  #lookAgain = new AbortController();
  #turn = 0;

  constructor(parts: ReaderParts, checkpoints: ReadonlyMap<string, Checkpoint>, signal: AbortSignal) {
    this.#parts = parts;
    this.#troubles = parts.troubles;
    this.#checkpoints = checkpoints;
    this.#signal = signal;
  }

  /** The partition of a lane that messages were added to. */
  partition(lane: string): Partition {
    return this.#partitions.get(lane) as Partition;
  }

  /** Ends when aborted; a failure is passed to the batches. */
  async run(): Promise<void> {
    try {
      while (!this.#signal.aborted) {
        this.#lookAgain = new AbortController();
        await this.#look();
        const onAbort = () => this.#lookAgain.abort();
        this.#signal.addEventListener("abort", onAbort);
        await untilTick(metadataEveryMs, this.#lookAgain.signal);
        this.#signal.removeEventListener("abort", onAbort);
        // Electing leaders takes a moment: this pause limits metadata requests.
        await sleep(settlePauseMs, this.#signal);
      }
    } catch (error) {
      this.#parts.batches.fail(error);
    }
    await Promise.all(this.#loops.values());
  }

  async #look(): Promise<void> {
    const found = await abortable(this.#parts.client.topics(this.#parts.topics), this.#signal);
    // Also when this replica has no partition to read.
    this.#parts.context.progress.answered();
    for (const name of this.#parts.topics) {
      const topic = found.find((candidate) => candidate.name === name);
      // The other topics are still read meanwhile.
      this.#parts.context.progress.warn(`topic:${name}`, topic === undefined ? unknownTopic(name).message : undefined);
      if (topic === undefined) this.#leave(name);
      else await this.#lookAt(topic);
    }
    for (const leader of new Set([...this.#partitions.values()].map((partition) => partition.leader))) {
      if (leader < 0 || this.#loops.has(leader)) continue;
      const loop = this.#readBroker(leader)
        .catch((error: unknown) => {
          this.#troubles.refused(brokerKey(leader), publicMessage(brokerSourceError(error)));
          this.#parts.batches.fail(error);
        })
        .finally(() => this.#loops.delete(leader));
      this.#loops.set(leader, loop);
    }
    const partitions = [...this.#partitions.values()];
    for (const { lane, leader } of partitions) if (leader < 0) this.#troubles.failed(lane, "it has no leader");
    this.#troubles.keep(new Set(partitions.flatMap(({ lane, leader }) => [partitionKey(lane), brokerKey(leader)])));
    this.#parts.lag.assigned(this.#partitions.size);
    this.#parts.lag.report();
  }

  /** The partitions of a deleted topic have no leader. */
  #leave(topic: string): void {
    for (const partition of this.#partitions.values()) if (partition.topic === topic) partition.leader = -1;
  }

  async #lookAt(topic: TopicInfo): Promise<void> {
    const { index, count } = this.#parts.context.replica;
    const fresh: { lane: string; partition: number; leader: number }[] = [];
    for (const { partition, leader } of topic.partitions) {
      const lane = laneOf(topic.name, partition);
      if (assignedWorker(lane, count) !== index) continue;
      const known = this.#partitions.get(lane);
      if (known === undefined) fresh.push({ lane, partition, leader });
      else if (isSameTopic(known.topicId, topic.id)) {
        known.leader = leader;
        // After an upgrade of the cluster topics have ids; a broker that is not upgraded yet does not remove one.
        if (known.topicId === noTopicId) known.topicId = topic.id;
      } else throw new AppError("SOURCE_UNREACHABLE", `The topic "${topic.name}" was deleted and made again.`);
    }
    const begun = `${topic.name} ${topic.id}`;
    if (fresh.length === 0 && (index > 0 || this.#begun.has(begun))) return;
    const { client, start, context } = this.#parts;
    const begin = await beginnings(topic, client, start, context, this.#signal);
    this.#begun.add(begun);
    for (const { lane, partition, leader } of fresh) {
      const position = await this.#positionOf(topic, lane, partition, begin);
      const { name, id } = topic;
      this.#partitions.set(lane, {
        lane,
        topic: name,
        topicId: id,
        partition,
        leader,
        position,
        ahead: position,
        busy: 0,
      });
    }
  }

  async #positionOf(topic: TopicInfo, lane: string, partition: number, begin: ReadonlyMap<number, number>) {
    const checkpoint = this.#checkpoints.get(lane);
    if (checkpoint !== undefined && isSameTopic(checkpoint.topicId, topic.id)) return checkpoint.next;
    if (checkpoint !== undefined) {
      const message =
        "The topic was deleted and made again. Messages of the former one that had not been loaded are lost; " +
        "reading goes on at the first message of the new one.";
      await this.#parts.context.ledger.reject([{ origin: lane, position: `topic ${topic.id}`, message, rows: 0 }]);
    }
    return begin.get(partition) ?? (await this.#edge(topic.name, partition, "earliest"));
  }

  /** At most two responses: one is decoded while the next one arrives. */
  async #readBroker(broker: number): Promise<void> {
    const { batches, context, lag } = this.#parts;
    const memories = [new AnswerMemory(), new AnswerMemory()] as const;
    let asked: Asked | undefined;
    for (let turn = 0; !this.#signal.aborted; turn += 1) {
      const inHand = asked ?? this.#ask(broker, [], memories[turn % 2] as AnswerMemory);
      if (inHand === undefined) {
        if (!this.#leads(broker)) return;
        await batches.change(fetchWaitMs, this.#signal);
        continue;
      }
      let fetched: readonly FetchedPartition[];
      try {
        fetched = await abortable(inHand.answer, this.#signal);
        context.progress.answered();
        const isEarly = performance.now() - inHand.since < emptyPauseMs;
        const isEmpty = fetched.every(({ records }) => records.length === 0);
        if (isEarly && isEmpty) await batches.change(inHand.pauseMs, this.#signal);
        asked = this.#ask(broker, fetched, memories[(turn + 1) % 2] as AnswerMemory);
        for (const answer of fetched) await this.#take(answer);
        this.#troubles.worked(brokerKey(broker));
      } catch (error) {
        if (this.#signal.aborted) return;
        throw error;
      }
      for (const partition of inHand.partitions) partition.busy -= 1;
      // Nobody waits for a response without records of partitions that stay with this broker.
      const isNothing = fetched.every(({ errorCode, records }) => errorCode === 0 && records.length === 0);
      if (!isNothing || inHand.partitions.some(({ leader }) => leader !== broker)) batches.added();
      lag.report();
    }
  }

  #leads(broker: number): boolean {
    return [...this.#partitions.values()].some(({ leader }) => leader === broker);
  }

  /** Requests what follows the current response; undefined when there is no room for more. */
  #ask(broker: number, inHand: readonly FetchedPartition[], memory: AnswerMemory): Asked | undefined {
    const { client, batches } = this.#parts;
    const goingOn = new Set<Partition>();
    for (const { topic, partition: number, errorCode, records } of inHand) {
      const partition = this.partition(laneOf(topic, number));
      if (errorCode !== 0) continue;
      partition.ahead = offsetBehind(records, partition.ahead);
      goingOn.add(partition);
    }
    const led = [...this.#partitions.values()].filter((partition) => partition.leader === broker);
    const wanted = led.filter((partition) => {
      const isFree = partition.busy === 0 || (partition.busy === 1 && goingOn.has(partition));
      return isFree && batches.hasRoom(partition.lane);
    });
    if (wanted.length === 0) return undefined;
    // A response is limited in bytes and filled in the order of the request, so every partition comes first in turn.
    this.#turn += 1;
    const first = this.#turn % wanted.length;
    const partitions = [...wanted.slice(first), ...wanted.slice(0, first)];
    for (const partition of partitions) partition.busy += 1;
    const requests = partitions.map(({ lane, topic, topicId, partition, position, ahead }) => {
      // Little at first, so that its rows are visible early, while more arrives.
      const bytes = ahead === position && batches.isNew(lane) ? fetchBytes.first : fetchBytes.partition;
      return { topic, topicId, partition, position: ahead, bytes };
    });
    // What is left out of the request waits for its response.
    const isIdle = goingOn.size === led.length && inHand.every(({ records }) => records.length === 0);
    // One that is left out for want of room is read as soon as there is some, not after the next record of the others.
    const isWhole = wanted.length === led.length;
    const waitMs = !isWhole ? 0 : isIdle ? idleWaitMs : fetchWaitMs;
    const answer = client.fetch(broker, requests, waitMs, memory);
    // Awaited after the current response is processed; until then its failure is not unhandled.
    answer.catch(() => {});
    return { partitions, answer, since: performance.now(), pauseMs: isWhole ? emptyPauseMs : fetchWaitMs };
  }

  async #take(fetched: FetchedPartition): Promise<void> {
    const partition = this.partition(laneOf(fetched.topic, fetched.partition));
    if (fetched.errorCode === kafkaCodes.OFFSET_OUT_OF_RANGE) return await this.#outOfRange(partition);
    if (isPassing(fetched.errorCode)) {
      this.#troubles.failed(partition.lane, `the broker answers ${nameOf(fetched.errorCode)}`);
      this.#lookAgain.abort();
      await sleep(settlePauseMs, this.#signal);
      return;
    }
    if (fetched.errorCode !== 0) {
      const failure = failureOfPartition(fetched.topic, fetched.errorCode);
      this.#troubles.refused(partitionKey(partition.lane), failure.message);
      throw failure;
    }
    this.#troubles.worked(partitionKey(partition.lane));
    const { batches, encoder, client, lag } = this.#parts;
    lag.seen(partition, fetched.lastStable);
    if (fetched.records.length === 0) return;
    const cursor = new RecordCursor(fetched.records, partition.position, fetched.aborted, client.decompress);
    const message = emptyMessage(partition.topic, partition.partition);
    let behind = partition.position;
    while (cursor.read(message)) {
      const ready = encoder.prepare(message);
      if (ready !== undefined) await ready;
      batches.add(partition.lane, message, cursor.next);
      behind = cursor.next;
    }
    if (behind > partition.position) lag.read(partition, message.timestamp);
    if (cursor.next === partition.position) {
      throw new AppError("SOURCE_INVALID", `The broker sends records of ${partition.lane} that break off.`);
    }
    partition.position = cursor.next;
    if (cursor.next > behind) batches.moveTo(partition.lane, cursor.next);
    batches.answered(partition.lane, fetched.lastStable - cursor.next);
  }

  /** The broker no longer has the position, either because of retention or after losing a part of its log. */
  async #outOfRange(partition: Partition): Promise<void> {
    const { lane, topic, position } = partition;
    const earliest = await this.#edge(topic, partition.partition, "earliest");
    const latest = await this.#edge(topic, partition.partition, "latest");
    if (position >= earliest && position <= latest) return;
    const next = position < earliest ? earliest : latest;
    const message =
      position < earliest
        ? `The broker removed ${earliest - position} offsets (${position} to ${earliest - 1}) before they were read.`
        : `The partition ends at offset ${latest}, before the pipe's position ${position}: the broker has lost messages.`;
    await this.#parts.context.ledger.reject([{ origin: lane, position: `${position}-${next}`, message, rows: 0 }]);
    await this.#parts.context.ledger.note({}, { errors: 1 });
    partition.position = next;
    partition.ahead = next;
    this.#parts.batches.moveTo(lane, next);
  }

  async #edge(topic: string, partition: number, at: "earliest" | "latest"): Promise<number> {
    const [found] = await abortable(this.#parts.client.offsets([{ topic, partition }], at), this.#signal);
    if (found === undefined)
      throw new AppError("SOURCE_UNREACHABLE", `The broker does not know ${topic}/${partition}.`);
    return found.offset;
  }
}
