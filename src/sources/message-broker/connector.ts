/** The Kafka connector: checks a configuration, reads samples and opens a source. */
import { memberError } from "../../lib/errors.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { defineConnector } from "../contract/define-connector.ts";
import { requireTable } from "../contract/destination.ts";
import type { Discovery } from "../contract/discovery.ts";
import type { Listed, ListingPage, SourceListing } from "../contract/listing.ts";
import type {
  CheckOptions,
  CleanUpOptions,
  DiscoverOptions,
  ListOptions,
  NetworkContext,
  RowReplayContext,
  SourceContext,
} from "../contract/source.ts";
import { type KeptMessage, keptColumns } from "../messages/facts.ts";
import { messageFormatOf } from "../messages/formats/rows.ts";
import { MessageReplay } from "../messages/message-replay.ts";
import { planRows } from "../messages/plan.ts";
import { checkSamples, discoverSamples, type Samples } from "../messages/samples.ts";
import { brokerAccessOf, topicsOf } from "./access.ts";
import type { BrokerClient, TopicInfo } from "./broker-client.ts";
import type { KafkaDurable } from "./declaration/durable.ts";
import type { MessageBrokerConfig } from "./declaration/kind.ts";
import { unknownTopic } from "./failures.ts";
import { kafkaVirtualColumns } from "./format.ts";
import { Membership } from "./group/membership.ts";
import { KafkaClient } from "./protocol/kafka-client.ts";
import { emptyMessage, type KafkaMessage, RecordCursor } from "./protocol/records.ts";
import { lendConnections } from "./protocol/shared-connections.ts";
import { KafkaSource } from "./source.ts";
import { requireSameCluster } from "./subscription.ts";

const sampleMessages = 100;
/** Samples begin this many offsets before the end of a partition. */
const sampleDepth = 200;

export const messageBrokerConnector = defineConnector<MessageBrokerConfig>({
  async check(config: MessageBrokerConfig, options: CheckOptions): Promise<void> {
    const destination = requireTable(options.destination);
    const { network, run } = options;
    const rows = await run.check("mapping", async () => {
      const made = await messageFormatOf<KafkaMessage>(config, registryDialer(network));
      planRows(destination, made.format, kafkaVirtualColumns);
      return made;
    });
    await withClient(config, network, "check", async (client) => {
      await run.reach("topics", () => requireTopics(config, client));
      if (options.pipeId !== undefined) {
        await run.check("cluster", () => requireSameCluster(topicsOf(config), client, options));
      }
      const { registry } = rows;
      if (registry !== undefined) await run.check("schemaRegistry", () => registry.check());
      if (!options.validateSamples) return;
      await run.check("samples", async () => {
        await checkSamples(await samplesOf(config, network, client), destination, options.query);
      });
    });
  },

  async open(config: MessageBrokerConfig, context: SourceContext<KafkaDurable>) {
    const { pipeId, replica, network } = context;
    const access = brokerAccessOf(config, network);
    const rows = await messageFormatOf<KafkaMessage>(config, registryDialer(network));
    const join = (group: string, onRebalance: (count: number) => void) =>
      new Membership({ access, group, topics: topicsOf(config), pipeId, replica, onRebalance });
    const client = new KafkaClient(access, `millrace-${pipeId}-${replica.index}`, lendConnections(access));
    try {
      return new KafkaSource({ config, context, client, rows, join });
    } catch (error) {
      await client.close();
      throw error;
    }
  },

  async rowReplay(config: MessageBrokerConfig, context: RowReplayContext) {
    const rows = await messageFormatOf<KeptMessage>(config, registryDialer(context.network));
    return new MessageReplay(rows, keptColumns(kafkaVirtualColumns), context);
  },

  async cleanUp(config: MessageBrokerConfig, { network, object }: CleanUpOptions): Promise<void> {
    await withClient(config, network, "clean-up", async (client) => await client.deleteGroup(object.name));
  },

  async list(config: MessageBrokerConfig, { network, page }: ListOptions) {
    return await withClient(config, network, "list", async (client) => await listTopics(client, page));
  },

  async discover(config: MessageBrokerConfig, { network, query }: DiscoverOptions): Promise<Discovery> {
    return await withClient(config, network, "discover", async (client) => {
      await requireTopics(config, client);
      return await discoverSamples(await samplesOf(config, network, client), query);
    });
  },
});

function registryDialer(network: NetworkContext): Dialer {
  return new Dialer(network.policy, "source.messageBroker.schemaRegistry.url");
}

async function withClient<T>(
  config: MessageBrokerConfig,
  network: NetworkContext,
  purpose: string,
  work: (client: KafkaClient) => Promise<T>,
): Promise<T> {
  const client = new KafkaClient(brokerAccessOf(config, network), `millrace-${purpose}`);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

async function requireTopics(config: MessageBrokerConfig, client: BrokerClient): Promise<void> {
  const names = topicsOf(config);
  if (names.length === 0) throw memberError("SOURCE_INVALID", "source.messageBroker.topics", "name at least one topic");
  const found = await client.topics(names);
  const missing = names.find((name) => !found.some((topic) => topic.name === name));
  if (missing !== undefined) throw unknownTopic(missing);
}

/** The newest messages of the partitions, as far as one fetch each returns them. */
async function samplesOf(
  config: MessageBrokerConfig,
  network: NetworkContext,
  client: BrokerClient,
): Promise<Samples<KafkaMessage>> {
  const names = topicsOf(config);
  const messages: KafkaMessage[] = [];
  for (const topic of await client.topics(names)) {
    const partitions = topic.partitions.map(({ partition }) => ({ topic: topic.name, partition }));
    const starts = await client.offsets(partitions, "earliest");
    const ends = await client.offsets(partitions, "latest");
    for (const { partition, leader } of topic.partitions) {
      const at = (list: typeof ends) => list.find((entry) => entry.partition === partition)?.offset ?? 0;
      if (at(ends) <= at(starts) || leader < 0 || messages.length >= sampleMessages) continue;
      const position = Math.max(at(starts), at(ends) - sampleDepth);
      const [fetched] = await client.fetch(
        leader,
        [{ topic: topic.name, topicId: topic.id, partition, position }],
        500,
      );
      if (fetched === undefined || fetched.errorCode !== 0) continue;
      const cursor = new RecordCursor(fetched.records, position, fetched.aborted, client.decompress);
      for (let message = emptyMessage(topic.name, partition); cursor.read(message); ) {
        if (message.end > message.start) messages.push(message);
        if (messages.length >= sampleMessages) break;
        message = emptyMessage(topic.name, partition);
      }
    }
  }
  const rows = await messageFormatOf<KafkaMessage>(config, registryDialer(network));
  const origin = names.length === 1 ? `topic "${names[0]}"` : `topics ${names.map((name) => `"${name}"`).join(", ")}`;
  return { format: rows.format, virtualColumns: kafkaVirtualColumns, encoder: rows.encoder, messages, origin };
}

/** Topics in the order of their names; the cursor is the name of the last one. */
async function listTopics(client: KafkaClient, { cursor, limit }: ListingPage): Promise<SourceListing> {
  const all = [...(await client.allTopics())].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = cursor === undefined ? all : all.filter(({ name }) => name > cursor);
  const page = rest.slice(0, limit);
  const topics = await withMessages(client, page);
  const last = page.at(-1);
  return { topics, ...(rest.length > page.length && last !== undefined ? { nextCursor: last.name } : {}) };
}

async function withMessages(client: KafkaClient, topics: readonly TopicInfo[]): Promise<Listed<"topics">[]> {
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
