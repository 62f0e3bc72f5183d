/** `source.messageBroker`: topics of a Kafka-protocol broker. */
import { z } from "zod";
import type { JsonObject } from "../../../lib/json.ts";
import { ownName } from "../../contract/own-objects.ts";
import { schemaRegistry } from "../../contract/schema-registry.ts";
import type { SourceKind } from "../../contract/source.ts";
import { messageBrokerDescription } from "./description.ts";
import { kafkaShapes } from "./durable.ts";

const credentials = z.union([
  z.strictObject({ username: z.string().min(1), password: z.string().min(1) }),
  z.strictObject({ accessKeyId: z.string().min(1), secretKey: z.string().min(1) }),
  z.strictObject({ connectionString: z.string().min(1) }),
  z.strictObject({ certificate: z.string().min(1), privateKey: z.string().min(1) }),
]);

const request = z.strictObject({
  type: z.enum(["kafka", "redpanda", "msk", "gcmk", "confluent", "warpstream", "azureeventhub", "dokafka"]).optional(),
  format: z.enum(["JSONEachRow", "Avro", "AvroConfluent", "Protobuf"]).optional(),
  brokers: z.string().min(1).max(4096).describe("Comma-separated host:port list"),
  topics: z.string().min(1).max(4096).describe("Comma-separated topic names"),
  consumerGroup: z.string().min(1).max(255).optional().describe("Default `millrace-<pipe id>`"),
  authentication: z.enum(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "IAM_ROLE", "IAM_USER", "MUTUAL_TLS"]).optional(),
  iamRole: z.string().min(1).max(2048).optional(),
  offset: z
    .strictObject({
      strategy: z
        .enum(["from_beginning", "from_latest", "from_timestamp", "from_offsets", "from_group"])
        .optional()
        .describe("`from_group`: the committed offsets of `consumerGroup`"),
      timestamp: z
        .string()
        .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?$/, { error: "must look like 2021-01-01T00:00 (UTC)" })
        .optional(),
      offsets: z
        .array(
          z.strictObject({
            topic: z.string().min(1).max(249),
            partition: z.int().min(0).max(1_000_000),
            offset: z.int().min(0).describe("First message that is read"),
          }),
        )
        .min(1)
        .max(10_000)
        .optional()
        .describe("For `from_offsets`; partitions that are not listed are read from their beginning"),
    })
    .optional(),
  schemaRegistry: schemaRegistry.optional(),
  caCertificate: z.string().min(1).optional(),
  reversePrivateEndpointIds: z.array(z.uuid()).max(20).optional(),
  credentials: credentials.optional(),
});

export type MessageBrokerConfig = z.output<typeof request>;

export const messageBroker = {
  ...messageBrokerDescription,
  key: "messageBroker",
  durable: kafkaShapes,
  request,
  sentTo: { credentials: ["brokers"] },
  addresses: { connection: ["brokers"], schemaRegistry: ["schemaRegistry.url"] },
  rules,
  made: (config, pipeId) =>
    config.consumerGroup === undefined ? [{ kind: "consumerGroup", name: ownName(pipeId) }] : [],
} satisfies SourceKind;

function rules(config: JsonObject): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  issues.push(...offsetIssues(config as Partial<MessageBrokerConfig>));
  if (config.authentication === "IAM_ROLE" && config.iamRole === undefined) {
    issues.push({ path: "iamRole", message: "is required for IAM_ROLE authentication" });
  }
  if (config.authentication !== undefined && config.authentication !== "IAM_ROLE" && config.credentials === undefined) {
    issues.push({ path: "credentials", message: `are required for ${String(config.authentication)} authentication` });
  }
  return issues;
}

function offsetIssues({
  offset,
  topics = "",
  consumerGroup,
}: Partial<MessageBrokerConfig>): { path: string; message: string }[] {
  const { strategy, timestamp, offsets } = offset ?? {};
  const issues: { path: string; message: string }[] = [];
  const add = (path: string, message: string) => issues.push({ path, message });
  if (strategy === "from_timestamp" && timestamp === undefined)
    add("offset.timestamp", "is required for from_timestamp");
  if (strategy === "from_offsets" && offsets === undefined) add("offset.offsets", "are required for from_offsets");
  if (strategy !== "from_offsets" && offsets !== undefined) add("offset.offsets", "are only for from_offsets");
  if (strategy === "from_group" && consumerGroup === undefined) add("consumerGroup", "is required for from_group");
  const read = topics.split(",").map((name) => name.trim());
  const seen = new Set<string>();
  for (const [index, { topic, partition }] of (offsets ?? []).entries()) {
    const lane = `${topic}/${partition}`;
    if (!read.includes(topic)) add(`offset.offsets.${index}.topic`, `${topic} is not one of the topics`);
    if (seen.has(lane)) add(`offset.offsets.${index}`, `${lane} is named twice`);
    seen.add(lane);
  }
  return issues;
}
