/** What the declared format means for the messages of a stream. */
import { AppError } from "../../lib/errors.ts";
import { AvroRows } from "../messages/avro-rows.ts";
import type { RowEncoder } from "../messages/encoder.ts";
import { JsonRows } from "../messages/json-rows.ts";
import type { RowFormat, RowPlan } from "../messages/plan.ts";
import { SchemaRegistry } from "../messages/registry.ts";
import type { ManagedStreamConfig } from "./kind.ts";
import { type StreamMessage, unpackedOnly } from "./message.ts";

export type StreamFormat = {
  readonly rows: RowFormat;
  readonly encoder: (plan: RowPlan<StreamMessage>) => RowEncoder<StreamMessage>;
  /** Throws SOURCE_* unless what the format needs besides the stream can be reached. */
  check(): Promise<void>;
};

export function formatOf(config: ManagedStreamConfig): StreamFormat {
  const format = config.format ?? "JSONEachRow";
  if (format === "JSONEachRow") {
    return { rows: format, encoder: (plan) => unpackedOnly(new JsonRows(plan)), check: async () => {} };
  }
  if (format === "Protobuf" || config.schemaRegistry === undefined) {
    throw new AppError("SOURCE_INVALID", `The format ${format} needs a schema registry.`);
  }
  const registry = new SchemaRegistry(config.schemaRegistry);
  return {
    rows: "Avro",
    encoder: (plan) => unpackedOnly(new AvroRows(plan, registry)),
    check: () => registry.check(),
  };
}
