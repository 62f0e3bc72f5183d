/**
 * Protobuf messages in the registry's framing as JSON rows: a zero byte, the schema's id in four bytes, the path of the
 * message type in its file, the message. The path is a count followed by as many indexes, in zigzag; one zero byte
 * means the first message of the file. Rows of all schemas have one format, so they share one insert.
 */

import { identifier } from "../../../clickhouse/sql.ts";
import type { FoundField } from "../../contract/discovery.ts";
import type { SourceMessage } from "../message.ts";
import type { RowPlan } from "../plan.ts";
import type { MessageRowWriter } from "../row-writer.ts";
import { schemaId } from "./avro-rows.ts";
import type { RowEncoder, RowGroup } from "./encoder.ts";
import { virtualMembers } from "./json-rows.ts";
import { ProtobufJson } from "./protobuf-json.ts";
import { loadProtobuf, ProtobufSchema } from "./protobuf-schema.ts";
import type { ProtobufField, ScalarKind, Shape, ValueType } from "./protobuf-shape.ts";
import { ProtobufWireError, ProtobufWireReader } from "./protobuf-wire.ts";
import type { SchemaRegistry } from "./registry.ts";

const headerBytes = 5;
/** Nesting of message types: more than the schema parser allows. */
const maxPath = 64;

type Frame = { readonly path: readonly number[]; readonly from: number };
type ProtobufGroup = RowGroup & { readonly shape: Shape };

let protobuf: Awaited<ReturnType<typeof loadProtobuf>> | undefined;

export class ProtobufRows<M extends SourceMessage> implements RowEncoder<M> {
  readonly plan: RowPlan<M>;
  readonly #registry: SchemaRegistry;
  readonly #json = new ProtobufJson();
  readonly #schemas = new Map<number, ProtobufSchema | string>();
  readonly #groups = new Map<string, ProtobufGroup>();

  constructor(plan: RowPlan<M>, registry: SchemaRegistry) {
    this.plan = plan;
    this.#registry = registry;
  }

  prepare(message: M): Promise<void> | undefined {
    const id = schemaId(message);
    if (id === undefined || (protobuf !== undefined && this.#registry.known(id) !== undefined)) return undefined;
    return this.#ask(id);
  }

  group(message: M): RowGroup | string {
    const id = schemaId(message);
    if (id === undefined) return "The message does not begin with the id of a schema.";
    const schema = this.#schemas.get(id) ?? this.#learn(id);
    if (typeof schema === "string") return schema;
    const frame = frameOf(message);
    if (frame === undefined) return "The message does not say which message of its schema it is.";
    const name = `${id}/${frame.path.join(".")}`;
    const made = this.#groups.get(name);
    if (made !== undefined) return made;
    const shape = schema.shape(frame.path);
    if (shape === undefined) return `The schema ${id} has no message at [${frame.path.join(", ")}].`;
    const group = { key: "", head: Buffer.alloc(0), shape };
    this.#groups.set(name, group);
    return group;
  }

  write(message: M, group: RowGroup, to: MessageRowWriter): string | undefined {
    const { shape } = group as ProtobufGroup;
    let row: string;
    try {
      row = this.#json.object(shape, message.bytes, (frameOf(message) as Frame).from, message.end);
    } catch (error) {
      if (error instanceof ProtobufWireError) return `The message is not of the type ${shape.name}: ${error.message}`;
      throw error;
    }
    const members = virtualMembers(this.plan, message);
    to.startRow();
    to.latin1(members === "" ? `${row}\n` : `{${members}${row.length > 2 ? "," : ""}${row.slice(1)}\n`);
    return undefined;
  }

  /** Fields and types according to the message's schema. */
  fields(group: RowGroup) {
    return fieldsOf((group as ProtobufGroup).shape);
  }

  async #ask(id: number): Promise<void> {
    protobuf ??= await loadProtobuf();
    if (this.#registry.known(id) === undefined) await this.#registry.ask(id);
  }

  /** The schema, or the reason why its messages can never be rows. */
  #learn(id: number): ProtobufSchema | string {
    const registered = this.#registry.known(id);
    if (registered === undefined || registered === null || protobuf === undefined) {
      return `The schema registry does not know the schema ${id}.`;
    }
    const schema = read(id, registered, protobuf);
    this.#schemas.set(id, schema);
    return schema;
  }
}

function read(id: number, registered: NonNullable<ReturnType<SchemaRegistry["known"]>>, library: typeof protobuf) {
  if (registered.type !== "PROTOBUF") return `The schema ${id} is of type ${registered.type}; expected PROTOBUF.`;
  try {
    return new ProtobufSchema(library as NonNullable<typeof library>, registered);
  } catch (error) {
    return `The schema ${id} cannot be read: ${(error as Error).message.slice(0, 300)}.`;
  }
}

const firstMessage = [0];

/** The message's start after its frame, and its type; undefined for a truncated or invalid frame. */
export function frameOf(message: SourceMessage): Frame | undefined {
  const { bytes, start, end } = message;
  const from = start + headerBytes;
  if (from >= end) return undefined;
  if (bytes[from] === 0) return { path: firstMessage, from: from + 1 };
  const wire = new ProtobufWireReader();
  wire.bytes = bytes;
  wire.at = from;
  try {
    wire.varint(end);
    const count = Number(wire.zigzag());
    if (count < 0 || count > maxPath) return undefined;
    const path: number[] = [];
    for (let index = 0; index < count; index += 1) {
      wire.varint(end);
      path.push(Number(wire.zigzag()));
    }
    return { path: count === 0 ? firstMessage : path, from: wire.at };
  } catch (error) {
    if (error instanceof ProtobufWireError) return undefined;
    throw error;
  }
}

/** Depth of nested members that are described; deeper ones are text. */
const maxMembers = 5;

const scalarTypes: Readonly<Record<ScalarKind, string>> = {
  int32: "Int32",
  sint32: "Int32",
  sfixed32: "Int32",
  uint32: "UInt32",
  fixed32: "UInt32",
  int64: "Int64",
  sint64: "Int64",
  sfixed64: "Int64",
  uint64: "UInt64",
  fixed64: "UInt64",
  bool: "Bool",
  float: "Float32",
  double: "Float64",
  string: "String",
  bytes: "String",
  null: "String",
};

function fieldsOf(shape: Shape): FoundField[] {
  return shape.fields.map((field) => {
    const type = typeOf(field, [shape]);
    return { name: field.name, type, optional: type.startsWith("Nullable(") };
  });
}

/** `within`: the enclosing message types, because a recursive type has no end. */
function typeOf(field: ProtobufField, within: readonly Shape[]): string {
  const { many, type, required, zero } = field;
  if (many === "list") return `Array(${valueType(type, within)})`;
  if (many === "map") {
    const [key, value] = (type as ValueType & { kind: "message" }).shape().fields as [ProtobufField, ProtobufField];
    const keyType = valueType(key.type, within);
    return `Map(${keyType === "Bool" ? "String" : keyType}, ${valueType(value.type, within)})`;
  }
  const one = valueType(type, within);
  const always = zero !== undefined || required || one.startsWith("Tuple(") || one.startsWith("Array(");
  return always || one.startsWith("Map(") ? one : `Nullable(${one})`;
}

function valueType(type: ValueType, within: readonly Shape[]): string {
  if (type.kind === "enum") return "String";
  if (type.kind !== "message") return scalarTypes[type.kind];
  const shape = type.shape();
  if (shape.as === "timestamp") return "DateTime64(9, 'UTC')";
  if (shape.as === "duration") return "Decimal(21, 9)";
  // A message of any type, or a recursive one: the engine keeps the text.
  const only = shape.fields[0];
  if (shape.as === "value")
    return only?.many === "no" && only.type.kind !== "null" ? valueType(only.type, within) : "String";
  if (shape.fields.length === 0 || within.length > maxMembers || within.includes(shape)) return "String";
  const members = shape.fields.map((field) => `${identifier(field.name)} ${typeOf(field, [...within, shape])}`);
  return `Tuple(${members.join(", ")})`;
}
