/**
 * How a value of Postgres becomes a value of the engine. The engine itself converts, from the text that Postgres
 * prints: directly where its TabSeparated parser reads that text right, otherwise by an SQL expression over a String.
 * Postgres can print some types of copies in a way that needs no expression: rows then go straight into the table.
 * `docs/postgres-types.md` is the table of it.
 */
import { identifier } from "../../../clickhouse/sql.ts";
import type { SourceColumn, SourceType } from "../declaration/durable.ts";
import { quoteName } from "../server/session.ts";
import {
  boolScalar,
  bytesScalar,
  convertArray,
  convertScalar,
  dateScalar,
  decimalScalar,
  exactDateScalar,
  exactTimestampScalar,
  exactTimestampWithZoneScalar,
  labelScalar,
  nullableOf,
  numberScalar,
  type Scalar,
  textScalar,
  timeScalar,
  timestampScalar,
  timestampWithZoneScalar,
  uuidScalar,
} from "./conversions.ts";

export type ColumnPlan = {
  /** Name in source and destination. */
  readonly name: string;
  /** Type in the structure of `input('...')`. */
  readonly input: string;
  /** Type of the destination column. */
  readonly type: string;
  /** SQL over the input column, where the value is not passed through as it is. */
  readonly expression?: string;
  /** Instead of the expression, for rows that are copied: SQL of Postgres whose text the engine reads as `type`. */
  readonly printed?: string;
};

export type PlanOptions = {
  /** `allowNullableColumns`. */
  readonly nullable: boolean;
  /** Part of the sorting key: never Nullable. */
  readonly key: boolean;
};

/**
 * Engine settings that every insert of Postgres rows needs: without the first one, a first row that repeats the names
 * of the columns would be taken for a header and lost.
 */
export const insertSettings = {
  input_format_tsv_detect_header: 0,
  input_format_tsv_skip_first_lines: 0,
  input_format_tsv_empty_as_default: 0,
  input_format_tsv_crlf_end_of_line: 0,
  input_format_tsv_allow_variable_number_of_columns: 0,
  input_format_null_as_default: 1,
  input_format_allow_errors_num: 0,
  input_format_allow_errors_ratio: 0,
  format_tsv_null_representation: "\\N",
  date_time_input_format: "basic",
  cast_string_to_date_time_mode: "basic",
  date_time_overflow_behavior: "ignore",
  precise_float_parsing: 1,
  cast_keep_nullable: 0,
  // Compiling the expressions of one insert takes longer than running them.
  compile_expressions: 0,
  // Tables of many columns with long names.
  max_query_size: 16_777_216,
  max_ast_elements: 1_000_000,
  max_expanded_ast_elements: 5_000_000,
  short_circuit_function_evaluation: "enable",
} as const satisfies Readonly<Record<string, string | number>>;

/** Types of `pg_catalog` that are more than their text; everything else is a String. */
const scalars: Readonly<Record<string, Scalar>> = {
  bool: boolScalar,
  int2: numberScalar("Int16"),
  int4: numberScalar("Int32"),
  int8: numberScalar("Int64"),
  oid: numberScalar("UInt32"),
  xid: numberScalar("UInt32"),
  cid: numberScalar("UInt32"),
  xid8: numberScalar("UInt64"),
  float4: numberScalar("Float32"),
  float8: numberScalar("Float64"),
  uuid: uuidScalar,
  bytea: bytesScalar,
  date: dateScalar,
  time: timeScalar,
  timestamp: timestampScalar,
  timestamptz: timestampWithZoneScalar,
};

/** Where two values must not become one. The conversions take longer: up to 9 ms for an insert. */
const keyScalars: Readonly<Record<string, Scalar>> = {
  date: exactDateScalar,
  timestamp: exactTimestampScalar,
  timestamptz: exactTimestampWithZoneScalar,
};

/** The most digits of the engine's Decimal. */
const maxDigits = 76;

/** The plan of one column. Total: a type that is not known becomes a String of its text. */
export function columnPlan(column: SourceColumn, options: PlanOptions): ColumnPlan {
  const { name } = column;
  const type = withoutDomain(column.type);
  const input = identifier(name);
  // Arrays of different shapes have the same elements: in a key they stay text.
  if (type.element !== undefined && column.dimensions <= 1 && !options.key) {
    const element = scalarOf(withoutDomain(type.element), false);
    const expression = convertArray(element, input, type.element.delimiter, options.nullable);
    const inner = options.nullable ? nullableOf(element.type) : element.type;
    return { name, input: "String", type: `Array(${inner})`, expression };
  }
  const scalar = scalarOf(type, options.key);
  const nullable = options.nullable && !options.key && !column.notNull;
  const target = nullable ? nullableOf(scalar.type) : scalar.type;
  if (scalar.direct) return { name, input: target, type: target };
  const printed = scalar.printed === undefined ? {} : { printed: scalar.printed(quoteName(name), nullable) };
  return {
    name,
    input: "Nullable(String)",
    type: target,
    expression: convertScalar(scalar, input, nullable),
    ...printed,
  };
}

function scalarOf(type: SourceType, key: boolean): Scalar {
  if (type.kind === "enum") return labelScalar;
  if (type.name === "numeric") return numeric(type.typmod);
  return (key ? keyScalars[type.name] : undefined) ?? scalars[type.name] ?? textScalar;
}

/** numeric(p, s) is exact as a Decimal; without limits, or beyond the engine's, it stays text. */
function numeric(typmod: number): Scalar {
  if (typmod < 0) return textScalar;
  const precision = ((typmod - 4) >> 16) & 0xffff;
  const scale = (((typmod - 4) & 0x7ff) ^ 1024) - 1024;
  const digits = scale < 0 ? precision - scale : Math.max(precision, scale);
  return digits > maxDigits ? textScalar : decimalScalar(digits, Math.max(scale, 0));
}

function withoutDomain(type: SourceType): SourceType {
  return type.base === undefined ? type : withoutDomain(type.base);
}
