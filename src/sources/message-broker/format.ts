/** The columns of a message besides its payload. */
import type { VirtualColumns } from "../messages/message.ts";
import { headersOf, type KafkaMessage } from "./protocol/records.ts";

export const kafkaVirtualColumns: VirtualColumns<KafkaMessage> = {
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
