/**
 * Avro messages in the registry's framing (a zero byte, the schema's id, the datum) as an Avro file: one per schema,
 * with every message in a block of its own. The reader cannot read past a block, so no message can extend into another.
 * Virtual columns become fields before the schema's own.
 */

import { createHash } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import type { SourceMessage } from "../message.ts";
import type { RowPlan, UsedVirtual } from "../plan.ts";
import type { MessageRowWriter } from "../row-writer.ts";
import { nestingCheck } from "./avro-nesting.ts";
import type { RowEncoder, RowGroup } from "./encoder.ts";
import type { RegisteredSchema, SchemaRegistry } from "./registry.ts";

const headerBytes = 5;

type AvroGroup = RowGroup & { readonly sync: Buffer; readonly nesting: ReturnType<typeof nestingCheck> };

export class AvroRows<M extends SourceMessage> implements RowEncoder<M> {
  readonly plan: RowPlan<M>;
  readonly #registry: SchemaRegistry;
  readonly #groups = new Map<number, AvroGroup | string>();

  constructor(plan: RowPlan<M>, registry: SchemaRegistry) {
    this.plan = plan;
    this.#registry = registry;
  }

  prepare(message: M): Promise<void> | undefined {
    const id = schemaId(message);
    if (id === undefined || this.#registry.known(id) !== undefined) return undefined;
    return this.#registry.ask(id);
  }

  group(message: M): RowGroup | string {
    const id = schemaId(message);
    if (id === undefined) return "The message does not begin with the id of a schema.";
    const made = this.#groups.get(id);
    if (made !== undefined) return made;
    const schema = this.#registry.known(id);
    if (schema === undefined || schema === null) return `The schema registry does not know the schema ${id}.`;
    const group = this.#makeGroup(id, schema);
    this.#groups.set(id, group);
    return group;
  }

  write(message: M, group: RowGroup, to: MessageRowWriter): string | undefined {
    const { nesting, sync } = group as AvroGroup;
    const problem = nesting?.(message.bytes, message.start + headerBytes, message.end);
    if (problem !== undefined) return problem;
    const front = this.plan.virtuals.map((virtual) => encoded(virtual, message));
    const from = message.start + headerBytes;
    const size = front.reduce((sum, part) => sum + part.length, 0) + message.end - from;
    to.startRow();
    to.bytes(Buffer.concat([long(1), long(size), ...front]));
    to.copy(message.bytes, from, message.end);
    to.bytes(sync);
    return undefined;
  }

  #makeGroup(id: number, registered: RegisteredSchema): AvroGroup | string {
    if (registered.type !== "AVRO") return `The schema ${id} is of type ${registered.type}; expected AVRO.`;
    const problem = sizeProblem(registered);
    if (problem !== undefined) return `The schema ${id} ${problem}.`;
    const schema = inlined(registered) as { type?: unknown; fields?: unknown[] };
    if (schema?.type !== "record" || !Array.isArray(schema.fields)) return `The schema ${id} is not a record.`;
    const front = this.plan.virtuals.map(({ field, column }) => ({ name: field, type: avroTypes[column.kind] }));
    const text = JSON.stringify({ ...schema, fields: [...front, ...schema.fields] });
    const sync = createHash("md5").update(text).digest();
    const head = Buffer.concat([
      Buffer.from("Obj\x01"),
      long(2),
      ...[Buffer.from("avro.schema"), Buffer.from(text), Buffer.from("avro.codec"), Buffer.from("null")].map(sized),
      long(0),
      sync,
    ]);
    return { key: String(id), head, sync, nesting: nestingCheck(schema) };
  }
}

const avroTypes = {
  text: "bytes",
  texts: { type: "array", items: "bytes" },
  pairs: { type: "map", values: "bytes" },
  integer: "long",
  millis: "long",
} as const;

/** The id before the datum; undefined when there is none. */
export function schemaId(message: SourceMessage): number | undefined {
  if (message.end - message.start < headerBytes || message.bytes[message.start] !== 0) return undefined;
  return message.bytes.readInt32BE(message.start + 1);
}

function encoded<M extends SourceMessage>({ column }: UsedVirtual<M>, message: M): Buffer {
  if (column.kind === "text") return sized(Buffer.from(column.read(message)));
  if (column.kind === "integer" || column.kind === "millis") return long(column.read(message));
  const items: readonly (Buffer | string)[][] =
    column.kind === "texts"
      ? column.read(message).map((text) => [text])
      : column.read(message).map(([key, value]) => [key, value]);
  const parts = items.flat().map((text) => sized(Buffer.from(text)));
  return parts.length === 0 ? long(0) : Buffer.concat([long(items.length), ...parts, long(0)]);
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([long(bytes.length), bytes]);
}

/** Zigzag varint, as Avro writes integers. */
function long(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** Limits a schema with all its references. The engine refuses deeper ones too. */
const limits = { characters: 1_000_000, depth: 500 };

/** Why a schema is not used, as the end of a sentence: it would be read by functions that call themselves. */
function sizeProblem({ schema, references }: RegisteredSchema): string | undefined {
  const texts = [schema, ...references.map((reference) => reference.schema)];
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters > limits.characters) return `has more than ${limits.characters} characters`;
  // References are nested into each other.
  const depth = texts.reduce((sum, text) => sum + depthOf(text), 0);
  return depth > limits.depth ? `is nested more than ${limits.depth} deep` : undefined;
}

/** The deepest bracket. Those in strings count too, which changes nothing for schemas that are not made to lie. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

const primitives = new Set(["null", "boolean", "int", "long", "float", "double", "bytes", "string"]);

/** The schema with referenced schemas inlined where their names first appear. */
function inlined({ schema, references }: RegisteredSchema): unknown {
  const own = parsed(schema);
  if (references.length === 0) return own;
  const named = new Map<string, unknown>();
  for (const reference of references) {
    const type = parsed(reference.schema) as { name?: string; namespace?: string };
    if (type?.name === undefined) continue;
    named.set(type.name.includes(".") || !type.namespace ? type.name : `${type.namespace}.${type.name}`, type);
  }
  const written = new Set<string>();
  const write = (node: unknown, namespace: string): unknown => {
    if (typeof node === "string") {
      if (primitives.has(node)) return node;
      const name = node.includes(".") || namespace === "" ? node : `${namespace}.${node}`;
      const found = named.get(name) === undefined ? node : name;
      const type = named.get(found);
      if (type === undefined || written.has(found)) return node;
      written.add(found);
      return write(type, "");
    }
    if (Array.isArray(node)) return node.map((part) => write(part, namespace));
    if (node === null || typeof node !== "object") return node;
    const record = node as Record<string, unknown>;
    const inner = typeof record.namespace === "string" ? record.namespace : namespace;
    const copy: Record<string, unknown> = { ...record };
    for (const member of ["type", "items", "values"]) {
      if (copy[member] !== undefined) copy[member] = write(copy[member], inner);
    }
    if (Array.isArray(copy.fields)) copy.fields = copy.fields.map((field) => write(field, inner));
    return copy;
  };
  return write(own, "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AppError("SOURCE_INVALID", "The schema registry holds an Avro schema that is not JSON.", {
      cause: error,
    });
  }
}
