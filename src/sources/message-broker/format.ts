/** From the configuration to rows: the format, its encoder, and the columns that a message has besides its payload. */
import { AppError } from "../../lib/errors.ts";
import { AvroRows } from "../messages/avro-rows.ts";
import type { RowEncoder } from "../messages/encoder.ts";
import { JsonRows } from "../messages/json-rows.ts";
import type { VirtualColumns } from "../messages/message.ts";
import type { RowFormat, RowPlan } from "../messages/plan.ts";
import { SchemaRegistry } from "../messages/registry.ts";
import type { MessageBrokerConfig } from "./kind.ts";
import { headersOf, type KafkaMessage } from "./records.ts";

export const virtualColumns: VirtualColumns<KafkaMessage> = {
  _key: {
    kind: "text",
    read: (message) => message.bytes.subarray(message.keyStart, Math.max(message.keyStart, message.keyEnd)),
  },
  _timestamp: { kind: "millis", read: (message) => message.timestamp },
  _partition: { kind: "integer", read: (message) => message.partition },
  _offset: { kind: "integer", read: (message) => message.position },
  _topic: { kind: "text", read: (message) => message.topic },
  _header_keys: { kind: "texts", read: (message) => headersOf(message).map(({ name }) => name) },
  _header_values: { kind: "texts", read: (message) => headersOf(message).map(({ value }) => value) },
  _headers: { kind: "pairs", read: (message) => headersOf(message).map(({ name, value }) => [name, value] as const) },
  _raw_message: { kind: "text", read: (message) => message.bytes.subarray(message.start, message.end) },
};

export type Rows = {
  readonly format: RowFormat;
  readonly registry: SchemaRegistry | undefined;
  encoder(plan: RowPlan<KafkaMessage>): RowEncoder<KafkaMessage>;
};

/** Throws SOURCE_INVALID for a format that cannot be read. */
export function rowsOf(config: MessageBrokerConfig): Rows {
  const format = config.format ?? (config.schemaRegistry === undefined ? "JSONEachRow" : "AvroConfluent");
  if (format === "JSONEachRow") {
    return { format, registry: undefined, encoder: (plan) => new JsonRows(plan) };
  }
  if (format === "Protobuf") throw new AppError("SOURCE_INVALID", "format: Protobuf is not available in this version.");
  if (config.schemaRegistry === undefined) {
    throw new AppError("SOURCE_INVALID", `schemaRegistry: is required for the format ${format}.`);
  }
  const { url, caCertificate, credentials } = config.schemaRegistry;
  const registry = new SchemaRegistry({ url, caCertificate, credentials });
  return { format: "Avro", registry, encoder: (plan) => new AvroRows(plan, registry) };
}
