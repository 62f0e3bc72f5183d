/** Formats and compressions: set by the pipe, or inferred from the key's suffix. */
import type { ObjectStorageConfig } from "../declaration/kind.ts";

export type ObjectFormat = NonNullable<ObjectStorageConfig["format"]>;

const suffixes: Readonly<Record<string, ObjectFormat>> = {
  json: "JSONEachRow",
  ndjson: "JSONEachRow",
  jsonl: "JSONEachRow",
  csv: "CSVWithNames",
  tsv: "TabSeparatedWithNames",
  parquet: "Parquet",
  pq: "Parquet",
  avro: "Avro",
  orc: "ORC",
  arrow: "Arrow",
  feather: "Arrow",
};

const compressionSuffix = /\.(gz|gzip|br|brotli|xz|lzma|zst|zstd|bz2|lz4)$/i;

/** The format of a key's or pattern's suffix, which may precede a suffix of compression. */
export function inferFormat(key: string): ObjectFormat | undefined {
  const suffix = /\.([a-z0-9]+)$/i.exec(key.replace(compressionSuffix, ""))?.[1];
  return suffix === undefined ? undefined : suffixes[suffix.toLowerCase()];
}

const compressionMethods: Readonly<Record<string, string>> = {
  none: "none",
  gzip: "gzip",
  gz: "gzip",
  brotli: "br",
  br: "br",
  xz: "xz",
  LZMA: "xz",
  zstd: "zstd",
  zst: "zstd",
  bz2: "bz2",
  lz4: "lz4",
};

/** The engine's name of the compression; `auto` uses the suffix of each key. */
export function engineCompression(compression: ObjectStorageConfig["compression"]): string {
  return compressionMethods[compression ?? "auto"] ?? "auto";
}

export function isCompressed(key: string, compression: ObjectStorageConfig["compression"]): boolean {
  const method = engineCompression(compression);
  return method === "auto" ? compressionSuffix.test(key) : method !== "none";
}

/**
 * How the bridge serves text that the engine cannot read by itself: `unpacked` from bzip2, in which other formats are
 * refused; `whole` from compressions in which the engine does not notice that a file breaks off.
 */
export function bridgeModeOf(key: string, format: string, compression: ObjectStorageConfig["compression"]) {
  if (isColumnar(format)) return undefined;
  if (isBzip2(key, compression)) return "unpacked";
  const method = engineCompression(compression);
  const isFramed = method === "auto" ? /\.(zstd?|lz4)$/i.test(key) : method === "zstd" || method === "lz4";
  return isFramed ? "whole" : undefined;
}

export function isBzip2(key: string, compression: ObjectStorageConfig["compression"]): boolean {
  const method = engineCompression(compression);
  return method === "auto" ? /\.bz2$/i.test(key) : method === "bz2";
}

function isColumnar(format: string): boolean {
  return ["Parquet", "Avro", "ORC", "Arrow"].includes(format);
}

/** Text formats in which a single bad row can be skipped. */
export function isRowFormat(format: ObjectFormat): boolean {
  return format.startsWith("JSON") || format.startsWith("CSV") || format.startsWith("TabSeparated");
}

export function hasHeader(format: ObjectFormat): boolean {
  return format.endsWith("WithNames");
}

/** Formats whose fields have positions instead of names. */
export function isPositional(format: ObjectFormat): boolean {
  return format === "CSV" || format === "TabSeparated";
}

/**
 * Settings of every pipe: unknown fields are ignored, missing ones become the zero value. A row of a file with names
 * has a value for each of them; only positions may be missing, because nothing says how many there are.
 */
export function objectFormatSettings(
  format: ObjectFormat,
  delimiter: string | undefined,
  lenientValues: boolean,
): Record<string, string | number> {
  const common = { input_format_null_as_default: 1, date_time_input_format: "best_effort" };
  const anyNumber = lenientValues || !hasHeader(format) ? 1 : 0;
  if (format.startsWith("JSON")) {
    return {
      ...common,
      input_format_skip_unknown_fields: 1,
      input_format_json_ignore_unknown_keys_in_named_tuple: 1,
      input_format_json_defaults_for_missing_elements_in_named_tuple: 1,
    };
  }
  if (format.startsWith("CSV")) {
    return {
      ...common,
      input_format_skip_unknown_fields: 1,
      input_format_with_names_use_header: 1,
      input_format_csv_allow_variable_number_of_columns: anyNumber,
      input_format_csv_empty_as_default: 1,
      // A first row that equals our column names is still a row.
      input_format_csv_detect_header: 0,
      // Without it, a file whose lines end in CR has a header and no row.
      input_format_csv_allow_cr_end_of_line: 1,
      ...(delimiter === undefined ? {} : { format_csv_delimiter: delimiter }),
    };
  }
  if (format.startsWith("TabSeparated")) {
    return {
      ...common,
      input_format_skip_unknown_fields: 1,
      input_format_with_names_use_header: 1,
      input_format_tsv_allow_variable_number_of_columns: anyNumber,
      input_format_tsv_empty_as_default: 1,
      input_format_tsv_detect_header: 0,
    };
  }
  if (format === "Parquet") {
    // Rows in the file's order: otherwise the blocks of a repeated insert could hold other rows.
    return { ...common, input_format_parquet_preserve_order: 1, input_format_parquet_allow_missing_columns: 1 };
  }
  if (format === "Avro") return { ...common, input_format_avro_allow_missing_fields: 1 };
  if (format === "ORC") return { ...common, input_format_orc_allow_missing_columns: 1 };
  return { ...common, input_format_arrow_allow_missing_columns: 1 };
}
