/**
 * How messages of a format become rows of the destination: the statement, the fields that the engine reads, and the
 * settings under which a batch is always one block.
 */
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { memberError } from "../../lib/errors.ts";
import type { DestinationColumn, TargetTable } from "../contract/source.ts";
import { convertedTo, type IntegerReading } from "./integers.ts";
import type { SourceMessage, VirtualColumn, VirtualColumns } from "./message.ts";
import { conflictingPaths, type Declared, distinct, planPaths } from "./paths.ts";

export type RowFormat = "JSONEachRow" | "Avro" | NamedFormat | ColumnarFormat;

/** Fields have the names of a first line; a dot in one has no meaning. */
type NamedFormat = "CSVWithNames" | "TabSeparatedWithNames";

/** Formats of whole bodies. */
type ColumnarFormat = "Parquet" | "ORC" | "Arrow";

/** A virtual column that a mapping reads, with its name in the rows that are sent to the engine. */
export type UsedVirtual<M extends SourceMessage> = { readonly field: string; readonly column: VirtualColumn<M> };

export type RowPlan<M extends SourceMessage> = {
  readonly format: RowFormat;
  readonly sql: string;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly virtuals: readonly UsedVirtual<M>[];
  /** Columns that the engine's parser fills from a row. */
  readonly structure: readonly Declared[];
  /** One per destination column. */
  readonly expressions: readonly string[];
  /** The same for finding bad rows: what cannot be loaded is an error of the parser, which names the row. */
  readonly search: Pick<RowPlan<M>, "structure" | "expressions">;
};

/** A reserved prefix: a payload field with it makes its message unreadable, and affects nothing else. */
const reserved = "__millrace";

const structureTypes = {
  text: "String",
  texts: "Array(String)",
  pairs: "Map(String, String)",
  integer: "Int64",
  millis: "Int64",
} as const;

export function planRows<M extends SourceMessage>(
  destination: TargetTable,
  format: RowFormat,
  virtualColumns: VirtualColumns<M>,
  /** Integers that do not fit wrap around, as in the engine. */
  wraps = false,
): RowPlan<M> {
  const { columns } = destination;
  const isVirtual = (column: DestinationColumn) => Object.hasOwn(virtualColumns, column.sourceField);
  const read = columns.filter((column) => !isVirtual(column));
  const [conflict] = isNamed(format) ? [] : conflictingPaths(read.map((column) => column.sourceField));
  if (conflict !== undefined) {
    const message = `The field "${conflict}" is mapped as a value and as the parent of another field.`;
    throw memberError("SOURCE_INVALID", "fieldMappings", message);
  }
  const checked = isBinary(format) ? "wide64" : "wide";
  const used = new Map<string, UsedVirtual<M> & Declared>();
  for (const column of columns.filter(isVirtual)) {
    const { sourceField } = column;
    const virtual = virtualColumns[sourceField] as VirtualColumn<M>;
    const name = `${reserved}${sourceField}`;
    used.set(sourceField, { field: name, column: virtual, name, type: structureTypes[virtual.kind] });
  }
  const virtuals = [...used.values()];
  const reading = (integers: IntegerReading) => {
    const expressionOf = new Map<DestinationColumn, string>();
    const fields = isNamed(format)
      ? distinct(read, expressionOf, ({ sourceField }) => sourceField, integers)
      : planPaths(read, expressionOf, integers);
    for (const column of columns.filter(isVirtual))
      expressionOf.set(column, virtualValue(column, virtualColumns, integers));
    // A row without wanted fields is still a row; the engine needs one column to count it.
    const structure = [...virtuals, ...fields].map(({ name, type }) => ({ name, type }));
    if (structure.length === 0) structure.push({ name: `${reserved}_row`, type: "UInt8" });
    return { structure, expressions: columns.map((column) => expressionOf.get(column) as string) };
  };
  const { structure, expressions } = reading(wraps ? "wrap" : checked);
  return {
    format,
    sql: insertSql(destination, format, structure, expressions),
    settings: { ...oneBlock, ...messageFormatSettings(format) },
    virtuals,
    structure,
    expressions,
    search: reading(wraps ? "wrap" : isBinary(format) ? checked : "each"),
  };
}

function virtualValue<M extends SourceMessage>(
  { sourceField, type }: DestinationColumn,
  columns: VirtualColumns<M>,
  integers: IntegerReading,
): string {
  const name = identifier(`${reserved}${sourceField}`);
  const isTime = columns[sourceField]?.kind === "millis";
  return isTime
    ? `CAST(fromUnixTimestamp64Milli(${name}, 'UTC'), ${literal(type)})`
    : convertedTo(type, name, integers);
}

export function structureText(structure: readonly Declared[]): string {
  return structure.map(({ name, type }) => `${identifier(name)} ${type}`).join(", ");
}

function insertSql(
  destination: TargetTable,
  format: RowFormat,
  structure: readonly Declared[],
  expressions: readonly string[],
): string {
  const names = destination.columns.map((column) => identifier(column.name)).join(", ");
  const head = `INSERT INTO ${tableName(destination.database, destination.table)} (${names})`;
  // Fields that already match the columns go straight into the table.
  const same = destination.columns.every(
    ({ name, sourceField }, at) => name === sourceField && expressions[at] === identifier(name),
  );
  if (same) return `${head} FORMAT ${format}`;
  return `${head} SELECT ${expressions.join(", ")} FROM input(${literal(structureText(structure))}) FORMAT ${format}`;
}

/** Whose integers have up to 64 bits and a sign, and that are read by no parser of text. */
function isBinary(format: RowFormat): boolean {
  return format === "Avro" || isColumnar(format);
}

function isColumnar(format: RowFormat): format is ColumnarFormat {
  return format === "Parquet" || format === "ORC" || format === "Arrow";
}

function isNamed(format: RowFormat): format is NamedFormat {
  return format.endsWith("WithNames");
}

/** Limits that no batch reaches: a statement inserts one block, so that a repeat is recognised as a whole. */
export const oneBlock = {
  min_insert_block_size_rows: 0,
  min_insert_block_size_bytes: 2 ** 50,
  max_insert_block_size: 1_000_000_000,
  max_threads: 1,
  // To parse in parallel, one thread finds the ends of rows and copies them before other threads parse them. The lanes
  // of a pipe are inserted side by side and use the processors without that work.
  input_format_parallel_parsing: 0,
};

/** Settings of every pipe: unknown fields are ignored, missing ones and nulls become the type's zero value. */
export function messageFormatSettings(format: RowFormat): Record<string, string | number> {
  const common = {
    input_format_null_as_default: 1,
    input_format_defaults_for_omitted_fields: 0,
    input_format_skip_unknown_fields: 1,
    date_time_input_format: "best_effort",
  };
  if (format === "Avro") return { ...common, input_format_avro_allow_missing_fields: 1 };
  if (isColumnar(format)) {
    const name = format.toLowerCase();
    const settings = { ...common, [`input_format_${name}_allow_missing_columns`]: 1 };
    return format === "Parquet" ? { ...settings, input_format_parquet_preserve_order: 1 } : settings;
  }
  if (isNamed(format)) {
    const name = format === "CSVWithNames" ? "csv" : "tsv";
    return {
      ...common,
      input_format_with_names_use_header: 1,
      [`input_format_${name}_allow_variable_number_of_columns`]: 0,
      [`input_format_${name}_empty_as_default`]: 1,
      // A first row that equals our column names is still a row.
      [`input_format_${name}_detect_header`]: 0,
    };
  }
  return {
    ...common,
    input_format_json_ignore_unknown_keys_in_named_tuple: 1,
    input_format_json_defaults_for_missing_elements_in_named_tuple: 1,
  };
}
