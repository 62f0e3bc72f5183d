/** Maps a declared format to rows: the engine format that reads them, and the encoder of the messages. */
import { memberError } from "../../../lib/errors.ts";
import type { Dialer } from "../../../outgoing/dialer.ts";
import type { SourceMessage } from "../message.ts";
import type { RowFormat, RowPlan } from "../plan.ts";
import type { RowEncoder } from "./encoder.ts";
import { JsonRows } from "./json-rows.ts";
import type { RegistryConfig, SchemaRegistry } from "./registry.ts";

export type FormatConfig = {
  readonly format?: "JSONEachRow" | "Avro" | "AvroConfluent" | "Protobuf" | undefined;
  readonly schemaRegistry?: RegistryConfig | undefined;
};

export type MessageFormat<M extends SourceMessage> = {
  readonly format: RowFormat;
  readonly registry: SchemaRegistry | undefined;
  encoder(plan: RowPlan<M>): RowEncoder<M>;
};

/**
 * The format's code is loaded on first use; `dialer` opens connections to the schema registry. Rejects with
 * SOURCE_INVALID for an unsupported format.
 */
export async function messageFormatOf<M extends SourceMessage>(
  config: FormatConfig,
  dialer: Dialer,
): Promise<MessageFormat<M>> {
  const format = config.format ?? (config.schemaRegistry === undefined ? "JSONEachRow" : "AvroConfluent");
  if (format === "JSONEachRow") {
    return { format, registry: undefined, encoder: (plan) => new JsonRows(plan) };
  }
  if (config.schemaRegistry === undefined) {
    throw memberError("SOURCE_INVALID", dialer.field.replace(/\.url$/, ""), `is required for the format ${format}`);
  }
  const { SchemaRegistry } = await import("./registry.ts");
  const { url, caCertificate, credentials } = config.schemaRegistry;
  const registry = new SchemaRegistry({ url, caCertificate, credentials }, dialer);
  if (format === "Protobuf") {
    const { ProtobufRows } = await import("./protobuf-rows.ts");
    return { format: "JSONEachRow", registry, encoder: (plan) => new ProtobufRows(plan, registry) };
  }
  const { AvroRows } = await import("./avro-rows.ts");
  return { format: "Avro", registry, encoder: (plan) => new AvroRows(plan, registry) };
}
