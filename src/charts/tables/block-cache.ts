/**
 * The engine's cache of decompressed blocks, for charts: they read the same columns again and again, and reading is
 * mostly decompressing. Filling it costs about a third of a query, so what would push itself out does not use it.
 */
import type { ColumnType } from "../../clickhouse/types.ts";
import type { TableSchema } from "../columns/schema.ts";

/**
 * Settings for a query that reads these columns of the table, on an engine with a cache of so many bytes: up to how
 * many rows the engine uses it, once it knows which granules it reads. None for a query that reads a column of unknown
 * width, as text.
 */
export function blockCache(
  names: ReadonlySet<string>,
  { columns }: TableSchema,
  cacheBytes: number,
): Record<string, number> {
  const read = [...columns.values()].filter(({ name }) => names.has(name));
  const widths = read.map(({ type }) => widthOf(type));
  if (widths.includes(undefined)) return {};
  const rowBytes = widths.reduce<number>((sum, width) => sum + (width as number), 0);
  // Half of the cache: what another chart put there is to stay.
  const rows = Math.floor(cacheBytes / 2 / Math.max(rowBytes, 1));
  if (rows === 0) return {};
  return { use_uncompressed_cache: 1, merge_tree_max_rows_to_use_cache: rows, merge_tree_max_bytes_to_use_cache: 0 };
}

const widths: Readonly<Record<string, number>> = {
  ...{ Float32: 4, Float64: 8, BFloat16: 2, Bool: 1, Date: 2, Date32: 4, DateTime: 4, DateTime64: 8 },
  ...{ UUID: 16, IPv4: 4, IPv6: 16, Enum8: 1, Enum16: 2 },
};

/** Bytes of a value; undefined where values differ in size or the type is unknown. */
function widthOf({ family, name, nullable, size, text }: ColumnType): number | undefined {
  // An index into a dictionary.
  if (text.startsWith("LowCardinality(")) return 4;
  const width = family === "integer" ? size / 8 : widths[name];
  return width === undefined ? undefined : width + (nullable ? 1 : 0);
}
