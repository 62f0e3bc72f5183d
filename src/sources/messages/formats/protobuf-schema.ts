/**
 * Schemas of the registry (.proto text) as shapes of messages. The text is untrusted: its size is bounded, imports come
 * from the schema's references or from a fixed set of files, never from a path, and no part of it becomes code.
 */
import type { Enum, INamespace, MapField, NamespaceBase, Field as ProtoField, Type } from "protobufjs";
import {
  type FieldSpec,
  knownShape,
  quotedName,
  type ScalarKind,
  type Shape,
  shapeOf,
  type ValueType,
} from "./protobuf-shape.ts";
import type { RegisteredSchema } from "./registry.ts";

type Protobuf = typeof import("protobufjs");

/** Limits a schema with all its references; the parser's time is quadratic in a message's fields. */
const limits = { characters: 1_000_000, numbers: 10_000 };
const mainFile = "the schema";

/** The .proto parser, loaded by the first pipe that needs it. */
export async function loadProtobuf(): Promise<Protobuf> {
  const { default: protobuf } = await import("protobufjs");
  const json = { with: { type: "json" } } as const;
  // Files of google/protobuf that the library does not include.
  const rest = {
    descriptor: await import("protobufjs/google/protobuf/descriptor.json", json),
    api: await import("protobufjs/google/protobuf/api.json", json),
    source_context: await import("protobufjs/google/protobuf/source_context.json", json),
    type: await import("protobufjs/google/protobuf/type.json", json),
  };
  for (const [name, file] of Object.entries(rest)) {
    protobuf.common(`google/protobuf/${name}.proto`, file.default);
  }
  return protobuf;
}

export class ProtobufSchema {
  readonly #protobuf: Protobuf;
  readonly #types: readonly Type[];
  readonly #shapes = new Map<Type, Shape>();

  /** Throws an Error that explains what is wrong with the text. */
  constructor(protobuf: Protobuf, registered: RegisteredSchema) {
    this.#protobuf = protobuf;
    const { schema, references } = registered;
    const files = new Map(references.map((reference) => [reference.name, reference.schema]));
    checkSize([schema, ...files.values()].join("\n"));
    const root = new protobuf.Root();
    const imports = new Set<string>();
    for (const [name, text] of [[mainFile, schema] as const, ...files]) {
      // The result's name is not part of the parser's types.
      const parse = protobuf.parse as typeof protobuf.parse & { filename: string | null };
      parse.filename = name;
      const file = parse(text, root, { keepCase: true });
      for (const path of [...(file.imports ?? []), ...(file.weakImports ?? [])]) imports.add(path);
    }
    this.#addCommon(root, imports, files);
    // A missing file does no harm when only its options are used; a missing type throws here.
    root.resolveAll();
    this.#types = this.#messagesIn(root);
  }

  /** The message at a path of indexes: into the file's messages, then into that message's own, and so on. */
  shape(path: readonly number[]): Shape | undefined {
    let types = this.#types;
    let type: Type | undefined;
    for (const index of path) {
      type = types[index];
      if (type === undefined) return undefined;
      types = this.#declared(type);
    }
    return type && this.#shapeOf(type);
  }

  #addCommon(root: InstanceType<Protobuf["Root"]>, imports: ReadonlySet<string>, files: ReadonlyMap<string, string>) {
    const anyFile = "google/protobuf/any.proto";
    for (const path of [...imports, ...(imports.size > 0 ? [anyFile] : [])]) {
      if (files.has(path) || !path.startsWith("google/protobuf/")) continue;
      // Each file includes all its dependencies but Any, so that some types are in several files.
      const types = this.#protobuf.common.get(path)?.nested?.google as { nested: { protobuf: INamespace } } | undefined;
      const missing = Object.entries(types?.nested.protobuf.nested ?? {}).filter(
        ([name]) => root.lookup(`google.protobuf.${name}`) === null,
      );
      const nested = { protobuf: { nested: Object.fromEntries(missing) } };
      if (missing.length > 0) root.addJSON({ google: { nested } });
    }
  }

  #messagesIn(namespace: NamespaceBase): Type[] {
    const { Namespace, Type: TypeClass } = this.#protobuf;
    const found: Type[] = [];
    for (const one of namespace.nestedArray) {
      if (one instanceof TypeClass) {
        if (one.filename === mainFile) found.push(one);
      } else if (one instanceof Namespace) found.push(...this.#messagesIn(one));
    }
    return found;
  }

  /** Messages declared in a message, as the registry's own serializers count them: without groups. */
  #declared(type: Type): Type[] {
    const { Type: TypeClass } = this.#protobuf;
    return type.nestedArray.filter((one): one is Type => one instanceof TypeClass && !("group" in one && one.group));
  }

  #shapeOf(type: Type): Shape {
    const name = type.fullName.replace(/^\./, "");
    const shape = knownShape(name) ?? this.#shapes.get(type);
    if (shape !== undefined) return shape;
    // Extensions of other files are unknown fields.
    const fields = type.fieldsArray.filter((field) => !field.declaringField);
    const made = shapeOf(
      name,
      fields.map((field) => this.#specOf(field, type.oneofsArray)),
      "object",
    );
    this.#shapes.set(type, made);
    return made;
  }

  #specOf(field: ProtoField, oneofs: readonly unknown[]): FieldSpec {
    const type = this.#typeOf(field);
    const oneof = field.partOf ? oneofs.indexOf(field.partOf) : undefined;
    const spec = { number: field.id, name: field.protoName, type, oneof, required: field.required };
    if (field instanceof this.#protobuf.MapField) {
      return { ...spec, type: entryType(field, type), many: "map", implicit: false };
    }
    return { ...spec, many: field.repeated ? "list" : "no", implicit: !field.hasPresence };
  }

  #typeOf(field: ProtoField): ValueType {
    const { resolvedType } = field;
    if (resolvedType === null) return { kind: field.type as ScalarKind };
    if (resolvedType instanceof this.#protobuf.Enum) return enumType(resolvedType);
    // Map values are always length-delimited, whatever the file sets for other fields.
    const delimited = field.delimited && !field.map;
    return { kind: "message", delimited, shape: () => this.#shapeOf(resolvedType as Type) };
  }
}

function checkSize(text: string): void {
  if (text.length > limits.characters) throw new Error(`it has more than ${limits.characters} characters`);
  const numbers = text.split("=").length - 1;
  if (numbers > limits.numbers) throw new Error(`it has more than ${limits.numbers} fields and names of enumerations`);
}

function entryType(field: MapField, type: ValueType): ValueType {
  const key = { number: 1, name: "key", type: { kind: field.keyType as ScalarKind }, implicit: true };
  const entry = shapeOf("", [key, { number: 2, name: "value", type, implicit: false }], "object");
  return { kind: "message", delimited: false, shape: () => entry };
}

/** The first name of a number counts. */
function enumType(type: Enum): ValueType {
  if (type.fullName === ".google.protobuf.NullValue") return { kind: "null" };
  const names = new Map<number, string>();
  for (const [name, number] of Object.entries(type.values)) {
    if (!names.has(number)) names.set(number, quotedName(name));
  }
  return { kind: "enum", names };
}
