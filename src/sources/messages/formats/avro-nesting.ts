/**
 * Avro messages that cost more than their bytes. Where a schema refers to itself, the engine reads each level on its
 * stack, also of fields that no column is mapped to, so that some hundred thousand levels, each of one byte, end it.
 * Where the items of an array have no bytes, a message of ten bytes has as many as it says.
 */

/** As of JSON messages. */
export const maxAvroDepth = 1_000;
/** Values that a message of no bytes may have: an array of nulls has as many as it says. */
const freeValues = 100_000;

type Reader = { readonly bytes: Buffer; at: number; readonly end: number; values: number };
/** Passes one value. */
type Skip = (from: Reader, depth: number) => void;
type Named = { skip: Skip; open: boolean };

/** What keeps a message from being read, as a sentence. */
class Refused extends Error {}

/** Checks messages of such a schema; undefined for every other one. The answer is what is wrong, as a sentence. */
export function nestingCheck(
  schema: unknown,
): ((bytes: Buffer, start: number, end: number) => string | undefined) | undefined {
  const compiler = new Compiler();
  const skip = compiler.compile(schema, "");
  if (!compiler.isRecursive && !compiler.hasFreeItems) return undefined;
  return (bytes, start, end) => {
    try {
      skip({ bytes, at: start, end, values: freeValues + end - start }, 0);
      return undefined;
    } catch (error) {
      if (error instanceof Refused) return error.message;
      throw error;
    }
  };
}

const nothing: Skip = () => {};

class Compiler {
  isRecursive = false;
  hasFreeItems = false;
  /** Values without bytes. */
  readonly #free = new Set<Skip>([nothing]);
  readonly #named = new Map<string, Named>();

  compile(type: unknown, namespace: string): Skip {
    if (Array.isArray(type)) return union(type.map((branch) => this.compile(branch, namespace)));
    if (typeof type === "string") return primitives.get(type) ?? this.#reference(type, namespace);
    const { type: kind, items, values, size, fields, ...rest } = (type ?? {}) as Record<string, unknown>;
    if (kind === "array") return this.#array(this.compile(items, namespace));
    if (kind === "map") {
      const value = this.compile(values, namespace);
      return blocks((from, depth) => {
        bytesOf(from);
        value(from, depth);
      });
    }
    if (kind === "enum") return this.#name(rest, namespace, () => (from) => void long(from));
    if (kind === "fixed") return this.#name(rest, namespace, () => this.#fixed(Number(size)));
    if (kind === "record" || kind === "error") {
      const list = Array.isArray(fields) ? (fields as { type?: unknown }[]) : [];
      return this.#name(rest, namespace, (inner) =>
        this.#record(list.map((field) => this.compile(field?.type, inner))),
      );
    }
    return this.compile(kind ?? "null", namespace);
  }

  #array(item: Skip): Skip {
    if (this.#free.has(item)) this.hasFreeItems = true;
    return blocks(item);
  }

  #record(fields: readonly Skip[]): Skip {
    const skip = record(fields);
    if (fields.every((field) => this.#free.has(field))) this.#free.add(skip);
    return skip;
  }

  #fixed(size: number): Skip {
    return size === 0 ? nothing : (from) => advance(from, size);
  }

  #name({ name, namespace }: Record<string, unknown>, outer: string, make: (namespace: string) => Skip): Skip {
    const full = fullName(String(name), typeof namespace === "string" ? namespace : outer);
    const named: Named = { skip: () => {}, open: true };
    this.#named.set(full, named);
    named.skip = make(full.slice(0, Math.max(0, full.lastIndexOf("."))));
    named.open = false;
    return named.skip;
  }

  #reference(name: string, namespace: string): Skip {
    const named = this.#named.get(fullName(name, namespace)) ?? this.#named.get(name);
    if (named === undefined) return () => {};
    if (!named.open) return named.skip;
    this.isRecursive = true;
    return (from, depth) => named.skip(from, depth);
  }
}

function fullName(name: string, namespace: string): string {
  return name.includes(".") || namespace === "" ? name : `${namespace}.${name}`;
}

function record(fields: readonly Skip[]): Skip {
  return (from, depth) => {
    if (depth >= maxAvroDepth) throw new Refused(`The message is nested more than ${maxAvroDepth} deep.`);
    for (const field of fields) field(from, depth + 1);
  };
}

function union(branches: readonly Skip[]): Skip {
  return (from, depth) => {
    const branch = branches[long(from)];
    if (branch === undefined) throw notOfSchema();
    branch(from, depth);
  };
}

/** Arrays and maps: blocks, each with a number of items; a negative one is followed by the block's size. */
function blocks(item: Skip): Skip {
  return (from, depth) => {
    for (let count = long(from); count !== 0; count = long(from)) {
      if (count < 0) long(from);
      for (let left = Math.abs(count); left > 0; left -= 1) {
        from.values -= 1;
        if (from.values < 0) throw notOfSchema();
        item(from, depth + 1);
      }
    }
  };
}

function bytesOf(from: Reader): void {
  advance(from, long(from));
}

function advance(from: Reader, bytes: number): void {
  if (!(bytes >= 0 && bytes <= from.end - from.at)) throw notOfSchema();
  from.at += bytes;
}

function long(from: Reader): number {
  let value = 0;
  for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
    if (from.at >= from.end) throw notOfSchema();
    const byte = from.bytes[from.at] as number;
    from.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw notOfSchema();
}

function notOfSchema(): Refused {
  return new Refused("The message cannot be read with its schema.");
}

const primitives = new Map<string, Skip>([
  ["null", nothing],
  ["boolean", (from) => advance(from, 1)],
  ["int", (from) => void long(from)],
  ["long", (from) => void long(from)],
  ["float", (from) => advance(from, 4)],
  ["double", (from) => advance(from, 8)],
  ["bytes", bytesOf],
  ["string", bytesOf],
]);
