/**
 * Where a pipe begins to read each partition. The beginning is decided once, for all partitions of a topic together,
 * and saved: a restart must not resolve "latest" again, and a partition added later is read from its first message.
 */
import { sleep } from "../../lib/abort.ts";
import { marks } from "../contract/marks.ts";
import type { SourceContext } from "../contract/source.ts";
import { type BrokerClient, isSameTopic, type TopicInfo } from "./broker-client.ts";
import type { KafkaDurable } from "./declaration/durable.ts";
import type { MessageBrokerConfig } from "./declaration/kind.ts";

const retryMs = 200;

export function laneOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Where a topic that is new to the pipe begins. */
export type StartPosition = Pick<MessageBrokerConfig, "offset" | "consumerGroup">;

/** The topic of a lane. */
export function topicOf(lane: string): string {
  return lane.slice(0, lane.lastIndexOf("/"));
}

/** Offset by partition for a topic that may be new to the pipe. */
export async function beginnings(
  topic: TopicInfo,
  client: BrokerClient,
  start: StartPosition,
  context: Pick<SourceContext<KafkaDurable>, "ledger" | "replica">,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const mark = `begin:${topic.name}` as const;
  const read = async () => (await context.ledger.marks([mark])).get(mark);
  let begin = await read();
  // One replica decides for all, because two that resolve "latest" would find different offsets.
  while (begin === undefined && context.replica.index > 0 && !signal.aborted) {
    await sleep(retryMs, signal);
    begin = await read();
  }
  if (begin === undefined) {
    begin = { topicId: topic.id, offsets: await find(topic, client, start) };
    await context.ledger.note(marks([mark, begin]), {});
  }
  if (!isSameTopic(begin.topicId, topic.id)) return new Map();
  return new Map(Object.entries(begin.offsets).map(([partition, at]) => [Number(partition), at]));
}

async function find(topic: TopicInfo, client: BrokerClient, { offset, consumerGroup }: StartPosition) {
  const partitions = topic.partitions.map(({ partition }) => ({ topic: topic.name, partition }));
  const strategy = offset?.strategy ?? (offset?.timestamp === undefined ? "from_beginning" : "from_timestamp");
  const earliest = async () => byPartition(await client.offsets(partitions, "earliest"));
  if (strategy === "from_beginning") return await earliest();
  if (strategy === "from_offsets") {
    return { ...(await earliest()), ...byPartition(offset?.offsets?.filter((at) => at.topic === topic.name) ?? []) };
  }
  if (strategy === "from_group") {
    const committed = await client.committed(consumerGroup ?? "", partitions);
    return { ...(await earliest()), ...byPartition(committed.filter((at) => at.offset >= 0)) };
  }
  const latest = byPartition(await client.offsets(partitions, "latest"));
  if (strategy === "from_latest") return latest;
  const since = byPartition(await client.offsets(partitions, millis(offset?.timestamp as string)));
  // All messages are older: reading starts with the next one.
  return Object.fromEntries(Object.entries(since).map(([p, at]) => [p, at < 0 ? (latest[p] as number) : at]));
}

function byPartition(offsets: readonly { partition: number; offset: number }[]): Record<string, number> {
  return Object.fromEntries(offsets.map(({ partition, offset }) => [String(partition), offset]));
}

/** `2021-01-01T00:00` is UTC. */
function millis(timestamp: string): number {
  return Date.parse(timestamp.endsWith("Z") ? timestamp : `${timestamp}Z`);
}
