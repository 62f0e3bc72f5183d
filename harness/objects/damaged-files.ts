/** Files of Parquet, Arrow, ORC and Avro as the engine writes them, and seeded damage to their bytes. */
import type { ClickHouseClient } from "../../src/clickhouse/client.ts";
import type { Dice } from "../random.ts";

export const fileFormats = ["Parquet", "Arrow", "ORC", "Avro"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** The fields of every file. A pipe that reads all of them reaches the readers of all types. */
export const fileColumns: readonly { readonly name: string; readonly type: string }[] = [
  { name: "id", type: "UInt64" },
  { name: "small", type: "Int8" },
  { name: "ratio", type: "Float64" },
  { name: "name", type: "String" },
  { name: "code", type: "FixedString(4)" },
  { name: "maybe", type: "Nullable(Int32)" },
  { name: "word", type: "LowCardinality(String)" },
  { name: "day", type: "Date32" },
  { name: "at", type: "DateTime64(3)" },
  { name: "price", type: "Decimal(18, 4)" },
  { name: "list", type: "Array(Nullable(String))" },
  { name: "lists", type: "Array(Array(UInt16))" },
  { name: "pair", type: "Tuple(x Int32, y String)" },
  { name: "pairs", type: "Array(Tuple(a UInt8, b Array(String)))" },
  { name: "map", type: "Map(String, UInt32)" },
];

/** Avro has no maps of the engine's kind and no fixed width of text in its writer's defaults. */
const expressions: Readonly<Record<string, string>> = {
  id: "number",
  small: "toInt8(number % 200 - 100)",
  ratio: "number / 7",
  name: "concat('name ', toString(number))",
  code: "toFixedString(leftPad(toString(number % 1000), 4, '0'), 4)",
  maybe: "if(number % 5 = 0, NULL, toInt32(number))",
  word: "toLowCardinality(['red', 'green', 'blue'][number % 3 + 1])",
  day: "toDate32('2020-01-01') + number % 400",
  at: "toDateTime64('2020-01-01 00:00:00', 3, 'UTC') + number",
  price: "toDecimal64(number / 3, 4)",
  list: "arrayMap(x -> if(x % 3 = 0, NULL, toString(x)), range(number % 4))::Array(Nullable(String))",
  lists: "arrayMap(x -> range(toUInt16(x)), range(number % 4))::Array(Array(UInt16))",
  pair: "tuple(toInt32(number), toString(number))::Tuple(x Int32, y String)",
  pairs: "arrayMap(x -> (x, [toString(x)]), range(toUInt8(number % 3)))::Array(Tuple(a UInt8, b Array(String)))",
  map: "map('k', toUInt32(number), 'l', toUInt32(1))::Map(String, UInt32)",
};

type Settings = Record<string, string | number>;

const codecs: Readonly<Record<FileFormat, readonly Settings[]>> = {
  Parquet: ["none", "snappy", "lz4", "zstd", "gzip", "brotli"].flatMap((codec): Settings[] => [
    { output_format_parquet_compression_method: codec, output_format_parquet_row_group_size: 100 },
    { output_format_parquet_compression_method: codec, output_format_parquet_use_custom_encoder: 0 },
  ]),
  Arrow: ["none", "lz4_frame", "zstd"].flatMap((codec): Settings[] => [
    { output_format_arrow_compression_method: codec },
    { output_format_arrow_compression_method: codec, output_format_arrow_low_cardinality_as_dictionary: 1 },
  ]),
  ORC: ["none", "snappy", "lz4", "zstd", "zlib"].flatMap((codec): Settings[] => [
    { output_format_orc_compression_method: codec },
    { output_format_orc_compression_method: codec, output_format_orc_dictionary_key_size_threshold: 1 },
  ]),
  Avro: ["null", "deflate", "snappy", "zstd"].map((codec) => ({
    output_format_avro_codec: codec,
    output_format_avro_string_column_pattern: ".*",
  })),
};

/** A file of each codec, in two sizes: one of a single page, and one of several row groups or blocks. */
export async function intactFiles(client: ClickHouseClient, format: FileFormat): Promise<Buffer[]> {
  const files: Buffer[] = [];
  const fields = fileColumns.map(({ name }) => `${expressions[name]} AS ${name}`).join(", ");
  for (const settings of codecs[format]) {
    for (const rows of [7, 300]) {
      const answer = await client.stream(`SELECT ${fields} FROM numbers(${rows}) FORMAT ${format}`, { settings });
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part as Buffer);
      files.push(Buffer.concat(parts));
    }
  }
  return files;
}

/** One to three kinds of damage to a copy of the file. */
export function damaged(file: Buffer, others: readonly Buffer[], dice: Dice): Buffer {
  let bytes: Buffer = Buffer.from(file);
  for (let left = dice.pick([1, 1, 1, 2, 3]); left > 0; left -= 1) bytes = dice.pick(damages)(bytes, others, dice);
  return bytes;
}

type Damage = (bytes: Buffer, others: readonly Buffer[], dice: Dice) => Buffer;

/** Where a change is likely to meet structure: anywhere, at the end (footers) and at the beginning (headers). */
function placeIn(bytes: Buffer, dice: Dice): number {
  const near = Math.min(bytes.length, 400);
  const where = dice.below(3);
  if (where === 0) return dice.below(bytes.length);
  return where === 1 ? bytes.length - 1 - dice.below(near) : dice.below(near);
}

const extremes = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff];
const long = "A".repeat(5_000);
const hostileTexts = [
  "__proto__",
  "../../../../etc/passwd",
  "\0\0\0\0",
  "<script>",
  "\u202e",
  "%s%n",
  "'); DROP",
  long,
];
const typeWords = ["int", "long", "bytes", "array", "map", "record", "union", "null", "enum", "fixed", "string"];

const damages: readonly Damage[] = [
  function flipBits(bytes, _, dice) {
    for (let left = 1 + dice.below(16); left > 0; left -= 1) {
      const at = placeIn(bytes, dice);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
    }
    return bytes;
  },
  function flipOneBit(bytes, _, dice) {
    const at = placeIn(bytes, dice);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
    return bytes;
  },
  function cutEnd(bytes, _, dice) {
    return bytes.subarray(0, 1 + dice.below(bytes.length));
  },
  function cutBeginning(bytes, _, dice) {
    return Buffer.from(bytes.subarray(dice.below(Math.min(bytes.length, 64))));
  },
  function cutMiddle(bytes, _, dice) {
    const at = dice.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + dice.below(200))]);
  },
  function swapChunks(bytes, _, dice) {
    const size = 1 + dice.below(Math.max(1, bytes.length >> 2));
    const a = dice.below(Math.max(1, bytes.length - 2 * size));
    const b = Math.min(a + size + dice.below(size), bytes.length - size);
    if (b < a + size) return bytes;
    const first = Buffer.from(bytes.subarray(a, a + size));
    bytes.copy(bytes, a, b, b + size);
    first.copy(bytes, b);
    return bytes;
  },
  function repeatChunk(bytes, _, dice) {
    const at = dice.below(bytes.length);
    const chunk = bytes.subarray(at, at + 1 + dice.below(100));
    return Buffer.concat([bytes.subarray(0, at), ...Array(1 + dice.below(20)).fill(chunk), bytes.subarray(at)]);
  },
  function graft(bytes, others, dice) {
    const other = dice.pick(others);
    const at = dice.below(Math.min(bytes.length, other.length));
    return Buffer.concat([bytes.subarray(0, at), other.subarray(at)]);
  },
  function changeLength(bytes, _, dice) {
    const width = dice.pick([1, 2, 4, 8]);
    if (bytes.length < width) return bytes;
    const at = Math.min(placeIn(bytes, dice), bytes.length - width);
    const value = Buffer.alloc(8, dice.chance(0.5) ? 0 : 0xff);
    value.writeUInt32LE(dice.pick(extremes));
    value.copy(bytes, at, 0, width);
    return bytes;
  },
  /** The length of a footer is in the last bytes, before the magic word of Parquet and Arrow. */
  function changeFooterLength(bytes, _, dice) {
    const end = dice.pick([1, 8, 10, 12]);
    if (bytes.length < end + 4) return bytes;
    if (end === 1) bytes[bytes.length - 1] = dice.below(256);
    else bytes.writeUInt32LE(dice.pick([...extremes, dice.below(bytes.length)]), bytes.length - end);
    return bytes;
  },
  /** Numbers of Thrift, Protocol Buffers and Avro have seven bits in a byte. */
  function growNumber(bytes, _, dice) {
    const at = placeIn(bytes, dice);
    const number = Buffer.alloc(1 + dice.below(9), 0xff);
    number[number.length - 1] = dice.pick([0x01, 0x7f, 0x0f]);
    if (dice.chance(0.5)) return Buffer.concat([bytes.subarray(0, at), number, bytes.subarray(at + 1)]);
    number.copy(bytes, at);
    return bytes;
  },
  function replaceText(bytes, _, dice) {
    const words = [...bytes.toString("latin1").matchAll(/[A-Za-z_.]{3,}/g)];
    if (words.length === 0) return bytes;
    const { 0: word, index } = dice.pick(words);
    const text = dice.chance(0.5) ? dice.pick(typeWords) : dice.pick(hostileTexts);
    // Half of the time the length stays the same: the rest then keeps its place.
    const put = dice.chance(0.5) ? text.padEnd(word.length, " ").slice(0, word.length) : text;
    return Buffer.concat([bytes.subarray(0, index), Buffer.from(put), bytes.subarray(index + word.length)]);
  },
  function nest(bytes, _, dice) {
    const at = placeIn(bytes, dice);
    const piece = dice.pick([
      '{"type":"array","items":',
      "[",
      '{"type":"record","name":"r","fields":[',
      "\x2c",
      "\x19\x1c",
    ]);
    return Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(piece.repeat(dice.pick([1, 50, 2_000]))),
      bytes.subarray(at),
    ]);
  },
];
