/** Fields of a message type, with engine types that can hold all of their values. */

import { identifier } from "../../../clickhouse/sql.ts";
import type { FoundField } from "../../contract/discovery.ts";
import type { ProtobufField, ScalarKind, Shape, ValueType } from "./protobuf-shape.ts";

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

export function fieldsOf(shape: Shape): FoundField[] {
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
  // Of any type, or recursive: the engine keeps the text.
  const only = shape.fields[0];
  if (shape.as === "value")
    return only?.many === "no" && only.type.kind !== "null" ? valueType(only.type, within) : "String";
  if (shape.fields.length === 0 || within.length > maxMembers || within.includes(shape)) return "String";
  const members = shape.fields.map((field) => `${identifier(field.name)} ${typeOf(field, [...within, shape])}`);
  return `Tuple(${members.join(", ")})`;
}
