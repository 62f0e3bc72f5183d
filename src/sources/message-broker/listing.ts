/** The topics of a cluster, with their partitions and the number of their messages. */
import type { ListedTopic, ListingPage, SourceListing } from "../contract/listing.ts";
import type { TopicInfo } from "./broker-client.ts";
import type { KafkaClient } from "./protocol/kafka-client.ts";

/** Topics in the order of their names; the cursor is the name of the last one. */
export async function listTopics(client: KafkaClient, { cursor, limit }: ListingPage): Promise<SourceListing> {
  const all = [...(await client.allTopics())].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = cursor === undefined ? all : all.filter(({ name }) => name > cursor);
  const page = rest.slice(0, limit);
  const topics = await withMessages(client, page);
  const last = page.at(-1);
  return { topics, ...(rest.length > page.length && last !== undefined ? { nextCursor: last.name } : {}) };
}

async function withMessages(client: KafkaClient, topics: readonly TopicInfo[]): Promise<ListedTopic[]> {
  // A partition without a leader cannot be asked, and its topic has no count.
  const hasLeaders = ({ partitions }: TopicInfo) => partitions.every(({ leader }) => leader >= 0);
  const asked = topics.filter(hasLeaders).flatMap(({ name, partitions }) => {
    return partitions.map(({ partition }) => ({ topic: name, partition }));
  });
  const starts = await client.offsets(asked, "earliest");
  const ends = await client.offsets(asked, "latest");
  const messages = new Map<string, number>();
  const add = (topic: string, count: number) => messages.set(topic, (messages.get(topic) ?? 0) + count);
  for (const { topic, offset } of ends) add(topic, offset);
  for (const { topic, offset } of starts) add(topic, -offset);
  return topics.map((topic) => {
    const { name, partitions } = topic;
    const count = messages.get(name);
    return { name, partitions: partitions.length, ...(count === undefined ? {} : { messages: Math.max(0, count) }) };
  });
}
