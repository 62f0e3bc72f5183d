/** Which format and compression an object has, when the configuration does not say. */
import type { ObjectStorageConfig, objectFormats } from "./kind.ts";

export type ObjectFormat = (typeof objectFormats)[number];

const suffixes: readonly [RegExp, ObjectFormat][] = [
  [/\.(json|jsonl|ndjson)$/i, "JSONEachRow"],
  [/\.csv$/i, "CSVWithNames"],
  [/\.(tsv|tab)$/i, "TabSeparatedWithNames"],
  [/\.(parquet|pq)$/i, "Parquet"],
  [/\.avro$/i, "Avro"],
  [/\.orc$/i, "ORC"],
  [/\.(arrow|feather)$/i, "Arrow"],
];

/** Formats of rows of text, in which one malformed row does not spoil the others. */
export const textFormats: ReadonlySet<ObjectFormat> = new Set([
  "JSONEachRow",
  "JSONAsObject",
  "CSV",
  "CSVWithNames",
  "TabSeparated",
  "TabSeparatedWithNames",
]);

/** The configured format, or the one that the name's suffix stands for; compression suffixes are looked through. */
export function formatOf(config: ObjectStorageConfig, name: string): ObjectFormat | undefined {
  if (config.format !== undefined) return config.format;
  const bare = name.replace(/\.(gz|gzip|br|xz|lzma|zst|zstd|bz2|lz4)$/i, "");
  return suffixes.find(([suffix]) => suffix.test(bare))?.[1];
}
