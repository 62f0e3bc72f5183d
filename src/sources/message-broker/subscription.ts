/**
 * Topics and brokers that change while the pipe keeps its positions. Positions are offsets of one cluster; those of a
 * topic that the pipe no longer reads are forgotten, so that the topic begins anew if it comes back.
 */
import { type AppError, memberError } from "../../lib/errors.ts";
import { marks } from "../contract/marks.ts";
import type { CheckOptions, SourceContext } from "../contract/source.ts";
import { type BrokerClient, noTopicId } from "./broker-client.ts";
import type { Checkpoint, KafkaDurable } from "./declaration/durable.ts";
import { topicOf } from "./positions.ts";

type Subscription = KafkaDurable["marks"]["subscription"];
type Begin = KafkaDurable["marks"][`begin:${string}`];

/** Saves what is read, and forgets what no longer is. No batch of an earlier run is in progress. */
export async function subscribe(
  topics: readonly string[],
  client: BrokerClient,
  checkpoints: ReadonlyMap<string, Checkpoint>,
  { ledger, replica }: Pick<SourceContext<KafkaDurable>, "ledger" | "replica">,
): Promise<void> {
  if (replica.index > 0) return;
  await client.topics(topics);
  const before = (await ledger.marks(["subscription"])).get("subscription");
  const now: Subscription = { cluster: client.clusterId, topics: [...topics].sort() };
  const lanes = [...checkpoints.keys()].filter((lane) => !topics.includes(topicOf(lane)));
  const removed = new Set([...lanes.map(topicOf), ...(before?.topics ?? []).filter((name) => !topics.includes(name))]);
  if (removed.size > 0)
    await ledger.forget(
      lanes,
      [...removed].map((name) => `begin:${name}` as const),
    );
  if (JSON.stringify(before) !== JSON.stringify(now)) await ledger.note(marks(["subscription", now]), {});
}

/** Throws SOURCE_INVALID unless the brokers belong to the cluster that the pipe has read. Topics were asked for. */
export async function requireSameCluster(
  topics: readonly string[],
  client: BrokerClient,
  options: Pick<CheckOptions, "marks">,
): Promise<void> {
  const { subscription, ...begins } = (await options.marks([
    "subscription",
    ...topics.map((name) => `begin:${name}`),
  ])) as {
    readonly subscription?: Subscription;
  } & Readonly<Record<string, Begin>>;
  const known = subscription?.cluster ?? null;
  if (known !== null && client.clusterId !== null) {
    if (known === client.clusterId) return;
    throw otherCluster(`they belong to the cluster ${client.clusterId}, and the pipe has read the cluster ${known}`);
  }
  // A pipe that has read nothing, or only topics that it will not read.
  if (Object.keys(begins).length === 0) return;
  for (const { name, id } of await client.topics(topics)) {
    const begin = begins[`begin:${name}`];
    if (begin === undefined) continue;
    if (begin.topicId === id && id !== noTopicId) return;
  }
  throw otherCluster("no id of a cluster or of a topic says that they belong to the cluster that the pipe has read");
}

function otherCluster(why: string): AppError {
  const path = "source.messageBroker.brokers";
  const message = `${why}; offsets of another cluster are others: delete the pipe and create it anew`;
  return memberError("SOURCE_INVALID", path, message);
}
