/**
 * Topics as batches: one partition is one lane, one batch a range of offsets. The replica that reads a partition
 * follows from the partition's name and the number of replicas, so that exactly one of them ever begins batches of it.
 * A replaced worker cannot begin one, because intents go through the control plane.
 */
import { abortable, childOf, sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import { requireTable } from "../contract/destination.ts";
import { ownName } from "../contract/own-objects.ts";
import type { InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../contract/source.ts";
import { factsOf } from "../messages/facts.ts";
import type { RowEncoder } from "../messages/formats/encoder.ts";
import type { MessageFormat } from "../messages/formats/rows.ts";
import { type BatchStart, type Closed, LaneBatches } from "../messages/lane-batches.ts";
import { type BatchLimits, batchLimits } from "../messages/limits.ts";
import { MessageBatch } from "../messages/message-batch.ts";
import { planRows, type RowPlan } from "../messages/plan.ts";
import { byReason, decideRefusal, type Refused, refusedOf } from "../messages/refusals.ts";
import { topicsOf } from "./access.ts";
import { type BrokerClient, isSameTopic } from "./broker-client.ts";
import type { Checkpoint, KafkaDurable, OffsetRange } from "./declaration/durable.ts";
import type { MessageBrokerConfig } from "./declaration/kind.ts";
import { failureOfPartition, unknownTopic } from "./failures.ts";
import { kafkaVirtualColumns } from "./format.ts";
import { GroupOffsets } from "./group/group.ts";
import type { Membership } from "./group/membership.ts";
import { Lag } from "./lag.ts";
import { PartitionReader } from "./partition-reader.ts";
import { laneOf } from "./positions.ts";
import { isPassing, kafkaCodes } from "./protocol/error-codes.ts";
import { emptyMessage, type KafkaMessage, RecordCursor } from "./protocol/records.ts";
import { subscribe } from "./subscription.ts";
import { Troubles } from "./troubles.ts";

type Batch = SourceBatch<KafkaDurable>;
type Context = SourceContext<KafkaDurable>;
type Made = MessageBatch<KafkaMessage>;

const replayPauseMs = 200;
const replayWaitMs = 10_000;

export type KafkaSourceParts = {
  readonly config: MessageBrokerConfig;
  readonly context: Context;
  readonly client: BrokerClient;
  readonly rows: MessageFormat<KafkaMessage>;
  /** Joins the replica to the consumer group. */
  readonly join: (group: string, onRebalance: (count: number) => void) => Pick<Membership, "identity" | "leave">;
};

export class KafkaSource implements Source<KafkaDurable> {
  readonly #config: MessageBrokerConfig;
  readonly #context: Context;
  readonly #client: BrokerClient;
  readonly #plan: RowPlan<KafkaMessage>;
  readonly #encoder: RowEncoder<KafkaMessage>;
  readonly #limits: BatchLimits;
  readonly #group: GroupOffsets;
  readonly #membership: Pick<Membership, "identity" | "leave">;
  readonly #lag: Lag;
  readonly #troubles: Troubles;
  /** Batches in progress, which are searched for bad rows when refused. */
  readonly #made = new WeakMap<Batch, Made>();
  readonly #newest = new WeakMap<Batch, number>();
  #batches: LaneBatches<KafkaMessage> | undefined;

  constructor({ config, context, client, rows, join }: KafkaSourceParts) {
    this.#config = config;
    this.#context = context;
    this.#client = client;
    this.#plan = planRows(
      requireTable(context.destination.target),
      rows.format,
      kafkaVirtualColumns,
      context.settings.database_lenient_values === true,
    );
    this.#encoder = rows.encoder(this.#plan);
    this.#limits = batchLimits(context.memoryGb, Number(context.settings.streaming_max_insert_wait_ms));
    this.#lag = new Lag((gauges) => context.progress.report(gauges));
    this.#troubles = new Troubles((key, message) => context.progress.warn(key, message));
    const group = config.consumerGroup ?? ownName(context.pipeId);
    this.#membership = join(group, (count) => context.progress.report({ rebalances: count }));
    this.#group = new GroupOffsets({
      client,
      group,
      identity: () => this.#membership.identity(),
      onError: () => this.#lag.commitFailed(),
    });
  }

  async *read(checkpoints: ReadonlyMap<string, Checkpoint>, signal: AbortSignal): AsyncIterable<Batch> {
    using stop = childOf(signal);
    await abortable(subscribe(topicsOf(this.#config), this.#client, checkpoints, this.#context), signal);
    const batches = new LaneBatches<KafkaMessage>(this.#limits, (lane, start) =>
      this.#emptyBatch(lane, this.#limits.maxBytes, new Map(), start),
    );
    this.#batches = batches;
    const reader = new PartitionReader(
      {
        client: this.#client,
        topics: topicsOf(this.#config),
        start: this.#config,
        context: this.#context,
        encoder: this.#encoder,
        batches,
        lag: this.#lag,
        troubles: this.#troubles,
      },
      checkpoints,
      stop.signal,
    );
    const reading = reader.run();
    try {
      for (;;) {
        const closed = await batches.next(signal);
        if (closed === undefined) return;
        yield this.#handOut(closed, reader);
      }
    } finally {
      stop.abort();
      await reading;
    }
  }

  async replay(replay: OffsetRange, signal: AbortSignal): Promise<Batch> {
    return await this.#load(replay, signal);
  }

  async refused(batch: Batch, failure: InsertFailure, signal: AbortSignal): Promise<readonly Batch[]> {
    const range = batch.replay;
    const made = this.#made.get(batch);
    if (made === undefined) return [];
    const before = refusedOf(range.refused);
    const answer = await decideRefusal(made, this.#plan, before, failure, this.#context.destination.query);
    if (answer.kind === "stop") return [];
    if (answer.kind === "without") {
      const continues = batch.continues ?? batch.id;
      return [await this.#load({ ...range, refused: byReason(answer.refused), continues }, signal)];
    }
    const { continues: _, ...rest } = range;
    const middle = Number(answer.lastOfFirst);
    const halves: OffsetRange[] = [
      { ...rest, last: middle, next: middle + 1, partial: true },
      { ...rest, first: middle + 1 },
    ];
    const batches: Batch[] = [];
    for (const half of halves) batches.push(await this.#load(half, signal));
    return batches;
  }

  async acknowledge(batch: Batch): Promise<void> {
    const { topic, partition, next, partial } = batch.replay;
    if (partial) return;
    this.#batches?.done(batch.lane);
    this.#lag.durable(batch.lane, next, this.#newest.get(batch) ?? 0);
    this.#group.advance(batch.lane, { topic, partition, offset: next });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group.close();
    await this.#membership.leave();
    await this.#client.close();
  }

  #handOut({ lane, batch: made, next }: Closed<KafkaMessage>, reader: PartitionReader): Batch {
    const { topic, topicId, partition } = reader.partition(lane);
    const ends = made.messages === 0 ? {} : { first: Number(made.first), last: Number(made.last) };
    const range = { topic, partition, topicId, ...ends, next: Number(next), limit: this.#limits.maxBytes };
    const batch = this.#batch(range, made);
    this.#newest.set(batch, this.#lag.readAt(lane));
    return batch;
  }

  #batch(range: OffsetRange, made: Made): Batch {
    const { topic, partition, topicId, first, last, next, continues, partial } = range;
    const lane = laneOf(topic, partition);
    const left = refusedOf(range.refused).size;
    const what = first === undefined ? `to ${next}` : `${first}-${last}`;
    const checkpoint: Checkpoint = { topicId, next };
    const { rejected } = made;
    const batch: Batch = {
      lane,
      id: `${lane}:${topicId}:${what}${left > 0 ? `~${left}` : ""}`,
      replay: range,
      inserts: made.inserts(),
      rejected,
      skippedRows: made.skippedRows,
      counts: { fetchedBytes: made.payloadBytes },
      ...(partial ? {} : { checkpoint }),
      ...(continues === undefined ? {} : { continues }),
    };
    this.#made.set(batch, made);
    return batch;
  }

  #emptyBatch(origin: string, maxMessageBytes: number, refused: Refused, start?: BatchStart): Made {
    const facts = (message: KafkaMessage) => factsOf(kafkaVirtualColumns, message);
    return new MessageBatch({ encoder: this.#encoder, origin, maxMessageBytes, refused, factsOf: facts, ...start });
  }

  /** Reads the batch of a range again. Messages that the broker no longer has are recorded and left out. */
  async #load(range: OffsetRange, signal: AbortSignal): Promise<Batch> {
    const lane = laneOf(range.topic, range.partition);
    const made = this.#emptyBatch(lane, range.limit, refusedOf(range.refused));
    const lost = range.first === undefined ? undefined : await this.#readRange(range, made, signal);
    if (lost !== undefined) {
      const message = `${lost} They may have been loaded before; if not, they are lost.`;
      made.rejected.push({ origin: lane, position: `${range.first}-${range.last}`, message, rows: 0 });
    }
    return this.#batch(range, made);
  }

  /** Adds the range's messages; returns a sentence about missing ones. */
  async #readRange(range: OffsetRange, made: Made, signal: AbortSignal): Promise<string | undefined> {
    const { topic, partition, topicId, last = 0 } = range;
    const message = emptyMessage(topic, partition);
    const patience = performance.now() + replayWaitMs;
    let position = range.first ?? 0;
    let lost: string | undefined;
    while (position <= last && !signal.aborted) {
      const [info] = await abortable(this.#client.topics([topic]), signal);
      if (info === undefined && !topicsOf(this.#config).includes(topic)) {
        return `Messages ${position} to ${last} went with the topic, which the pipe does not read any more.`;
      }
      if (info === undefined) throw unknownTopic(topic);
      if (!isSameTopic(info.id, topicId))
        return `Messages ${position} to ${last} went with the topic, which was made again.`;
      const leader = info.partitions.find((candidate) => candidate.partition === partition)?.leader ?? -1;
      const wanted = [{ topic, topicId: info.id, partition, position }];
      const [fetched] = leader < 0 ? [] : await abortable(this.#client.fetch(leader, wanted, 500), signal);
      if (fetched?.errorCode === kafkaCodes.OFFSET_OUT_OF_RANGE) {
        const [edge] = await abortable(this.#client.offsets([{ topic, partition }], "earliest"), signal);
        const earliest = edge?.offset ?? position;
        if (earliest > position) {
          lost = `The broker removed the messages ${position} to ${Math.min(earliest - 1, last)}.`;
          position = earliest;
          continue;
        }
      } else if (fetched !== undefined && fetched.errorCode !== 0 && !isPassing(fetched.errorCode)) {
        throw failureOfPartition(topic, fetched.errorCode);
      } else if (fetched !== undefined && fetched.errorCode === 0 && fetched.records.length > 0) {
        const cursor = new RecordCursor(fetched.records, position, fetched.aborted, this.#client.decompress);
        while (cursor.read(message) && message.position <= last) {
          await this.#encoder.prepare(message);
          made.add(message);
        }
        const moved = cursor.next > position;
        position = cursor.next;
        if (moved) continue;
      }
      if (performance.now() > patience) {
        throw new AppError(
          "SOURCE_UNREACHABLE",
          `The broker no longer returns the records of ${laneOf(topic, partition)}.`,
        );
      }
      await sleep(replayPauseMs, signal);
    }
    return lost;
  }
}
