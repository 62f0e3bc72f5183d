/** The reader's view of a message type: its fields by number, in the order of its schema. */

/** Types of single values; `null` is the enumeration of `google.protobuf.Value` with a single value. */
export type ScalarKind =
  | "int32"
  | "uint32"
  | "sint32"
  | "int64"
  | "uint64"
  | "sint64"
  | "bool"
  | "fixed32"
  | "sfixed32"
  | "float"
  | "fixed64"
  | "sfixed64"
  | "double"
  | "string"
  | "bytes"
  | "null";

export type ValueType =
  | { readonly kind: ScalarKind }
  /** Quoted names by number. */
  | { readonly kind: "enum"; readonly names: ReadonlyMap<number, string> }
  /** The shape is built on first use, because types may be recursive. */
  | { readonly kind: "message"; readonly delimited: boolean; shape(): Shape };

export type ProtobufField = {
  readonly index: number;
  readonly number: number;
  readonly name: string;
  /** `"name":` as written in the row. */
  readonly key: string;
  readonly type: ValueType;
  /** `map`: the type is that of entries, which have the fields 1 and 2. */
  readonly many: "no" | "list" | "map";
  readonly required: boolean;
  /** Number of its oneof: only the last of these fields in a message counts. */
  readonly oneof: number | undefined;
  /** The value of a field that is missing in the message; undefined omits the field. */
  readonly zero: string | undefined;
};

export type Shape = {
  readonly name: string;
  readonly fields: readonly ProtobufField[];
  readonly byNumber: ReadonlyMap<number, ProtobufField>;
  /** Well-known types with a single value: the one field that is set, or the zero of the first; or a time. */
  readonly as: "object" | "value" | "timestamp" | "duration";
};

export type FieldSpec = Pick<ProtobufField, "number" | "name" | "type"> &
  Partial<Pick<ProtobufField, "many" | "required" | "oneof">> & { readonly implicit: boolean };

/** A shape of fields; `zero` is computed for those without explicit presence (`implicit`). */
export function shapeOf(name: string, specs: readonly FieldSpec[], as: Shape["as"]): Shape {
  const fields = specs.map((spec, index): ProtobufField => {
    const { many = "no", required = false, oneof } = spec;
    const zero = many === "list" ? "[]" : many === "map" ? "{}" : spec.implicit ? zeroOf(spec.type) : undefined;
    const key = `${quotedName(spec.name)}:`;
    return { index, number: spec.number, name: spec.name, key, type: spec.type, many, required, oneof, zero };
  });
  return { name, fields, byNumber: new Map(fields.map((field) => [field.number, field])), as };
}

/** In quotes, as single-byte text. */
export function quotedName(name: string): string {
  return JSON.stringify(Buffer.from(name).toString("latin1"));
}

export function zeroOf(type: ValueType): string | undefined {
  if (type.kind === "message") return undefined;
  if (type.kind === "enum") return type.names.get(0) ?? "0";
  if (type.kind === "string" || type.kind === "bytes") return '""';
  if (type.kind === "bool") return "false";
  return type.kind === "null" ? "null" : "0";
}

const wrapped: Readonly<Record<string, ScalarKind>> = {
  DoubleValue: "double",
  FloatValue: "float",
  Int64Value: "int64",
  UInt64Value: "uint64",
  Int32Value: "int32",
  UInt32Value: "uint32",
  BoolValue: "bool",
  StringValue: "string",
  BytesValue: "bytes",
};

const scalar = (number: number, kind: ScalarKind) => ({ number, name: "value", type: { kind }, implicit: true });
const nested = (shape: () => Shape): ValueType => ({ kind: "message", delimited: false, shape });
const time = [scalar(1, "int64"), scalar(2, "int32")];

/** Types of google/protobuf that are written as one value, by full name. */
const known = new Map<string, Shape>([
  ["google.protobuf.Timestamp", shapeOf("google.protobuf.Timestamp", time, "timestamp")],
  ["google.protobuf.Duration", shapeOf("google.protobuf.Duration", time, "duration")],
  ...Object.entries(wrapped).map(([short, kind]): [string, Shape] => {
    const name = `google.protobuf.${short}`;
    return [name, shapeOf(name, [scalar(1, kind)], "value")];
  }),
]);

const value = (): Shape => known.get("google.protobuf.Value") as Shape;
const member = shapeOf(
  "",
  [scalar(1, "string"), { number: 2, name: "value", type: nested(value), implicit: false }],
  "object",
);
const members: FieldSpec = {
  number: 1,
  name: "fields",
  type: nested(() => member),
  many: "map",
  implicit: true,
};
const values: FieldSpec = {
  number: 1,
  name: "values",
  type: nested(value),
  many: "list",
  implicit: true,
};
const struct = shapeOf("google.protobuf.Struct", [members], "value");
const list = shapeOf("google.protobuf.ListValue", [values], "value");
const kinds: ValueType[] = [
  { kind: "null" },
  { kind: "double" },
  { kind: "string" },
  { kind: "bool" },
  nested(() => struct),
  nested(() => list),
];
const oneOf = kinds.map((type, index) => ({
  number: index + 1,
  name: "kind",
  type,
  oneof: 0,
  // Only the first one: a value without any kind is null.
  implicit: index === 0,
}));
known.set(struct.name, struct);
known.set(list.name, list);
known.set("google.protobuf.Value", shapeOf("google.protobuf.Value", oneOf, "value"));

export function knownShape(name: string): Shape | undefined {
  return known.get(name);
}
