/** Protobuf messages of tests, encoded by another implementation, and the resulting rows. */
import protobuf from "protobufjs";
import { ProtobufRows } from "../../src/sources/messages/formats/protobuf-rows.ts";
import type { RegisteredSchema, SchemaRegistry } from "../../src/sources/messages/formats/registry.ts";
import type { SourceMessage } from "../../src/sources/messages/message.ts";
import { MessageBatch } from "../../src/sources/messages/message-batch.ts";
import { planRows } from "../../src/sources/messages/plan.ts";

export type TestSchema = {
  readonly text: string;
  /** A zero byte, the id, the path of the first message, and the value as a message of `type`. */
  message(id: number, type: string, value: Record<string, unknown>): Buffer;
};

const files = ["timestamp", "duration", "wrappers", "struct"];

export function protobufSchema(text: string): TestSchema {
  const { root } = protobuf.parse(text, { keepCase: true });
  for (const file of files) {
    const json = protobuf.common.get(`google/protobuf/${file}.proto`);
    if (text.includes(`${file}.proto`) && json?.nested) root.addJSON(json.nested);
  }
  return {
    text,
    message: (id, type, value) => {
      const found = root.lookupType(type);
      return Buffer.concat([Buffer.from([0, 0, 0, 0, id, 0]), found.encode(found.fromObject(value)).finish()]);
    },
  };
}

/** A registry of texts, all of them cached. */
function registryOf(schemas: Readonly<Record<number, Partial<RegisteredSchema>>>): SchemaRegistry {
  const known = (id: number) =>
    schemas[id] === undefined ? null : { type: "PROTOBUF", references: [], schema: "", ...schemas[id] };
  return { known, guardQuery: async () => undefined } as unknown as SchemaRegistry;
}

export const framed = (id: number, payload: Uint8Array | readonly number[], path: readonly number[] = [0]) =>
  Buffer.from([0, 0, 0, 0, id, ...path, ...payload]);

export async function load(schemas: Parameters<typeof registryOf>[0], payloads: readonly Uint8Array[]) {
  const plan = planRows<SourceMessage>({ database: "d", table: "t", columns: [] }, "JSONEachRow", {});
  const encoder = new ProtobufRows(plan, registryOf(schemas));
  const batch = new MessageBatch<SourceMessage>({ encoder, origin: "o", maxMessageBytes: 1e9 });
  for (const [position, payload] of payloads.entries()) {
    // Within other bytes, so that reading beyond the message would show.
    const bytes = Buffer.concat([Buffer.from([1, 2, 3]), payload, Buffer.from([8, 1, 8, 1])]);
    const message = { bytes, start: 3, end: 3 + payload.length, position };
    await encoder.prepare(message);
    batch.add(message);
  }
  const [group] = batch.groups;
  const rows =
    group === undefined
      ? []
      : group.positions.map((_, row) =>
          group.rows
            .part(row, row + 1)
            .toString()
            .trimEnd(),
        );
  return { rows, rejected: batch.rejected.map(({ position, message }) => `${position} ${message}`), batch };
}

/** The row of one message of the file's first type; throws when it is rejected. */
export async function rowOf(
  schema: string,
  payload: Uint8Array | readonly number[],
  more: Partial<RegisteredSchema> = {},
) {
  const { rows, rejected } = await load({ 1: { schema, ...more } }, [framed(1, payload)]);
  if (rows[0] === undefined) throw new Error(rejected[0]);
  return rows[0];
}

export const proto3 = (body: string) => `syntax = "proto3";\n${body}`;
export const proto2 = (body: string) => `syntax = "proto2";\n${body}`;

/** Bytes encoded by another implementation. */
export function encoded(schema: string, type: string, value: Record<string, unknown>): Uint8Array {
  return protobufSchema(schema).message(0, type, value).subarray(6);
}
