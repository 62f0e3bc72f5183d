/** From a field as written to the engine expression that reads it, with its type. Shared by filters and expressions. */
import { identifier } from "../../clickhouse/sql.ts";
import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { type FieldStep, FilterError } from "../filter/syntax.ts";
import type { Params } from "./params.ts";
import { isIndexed, splitColumn, type TableSchema, unknownColumn } from "./schema.ts";

export type Operand = {
  /** An expression over the table's columns, or over the innermost lambda variable of `arrays`. */
  readonly sql: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Arrays stepped into on the way, outermost first: a test holds when it holds for any element. */
  readonly arrays: readonly { readonly sql: string; readonly variable: string }[];
  /** A condition that is implied by any match of a value and that a skip index can answer. */
  readonly hint: string | undefined;
  /** A value below JSON has it: the condition that it is a number. */
  readonly isNumber?: string;
};

export type SourceSpan = { readonly text: string; readonly at: number };

const dynamic = parseType("Dynamic");
const text = parseType("Nullable(String)");

/** Finds the column a field begins with and walks the rest of the path. Throws FilterError. */
export function resolveField(
  steps: readonly FieldStep[],
  span: SourceSpan,
  schema: TableSchema,
  params: Params,
): Operand {
  const [first, ...others] = steps;
  if (first?.kind !== "dotted") throw new FilterError("expected a column", span.at);
  const found = splitColumn(schema, first.text);
  if (!found) throw unknownColumn(schema, first.text, span.at);
  const { column, rest } = found;
  params.reads(column.name);
  const path: FieldStep[] = rest === undefined ? others : [{ kind: "dotted", text: rest }, ...others];
  const operand: Operand = {
    sql: identifier(column.name),
    type: column.type,
    nullable: column.type.nullable,
    arrays: [],
    hint: undefined,
  };
  return walk(operand, path, { span, schema, params });
}

type Context = { readonly span: SourceSpan; readonly schema: TableSchema; readonly params: Params };

function walk(operand: Operand, path: readonly FieldStep[], context: Context): Operand {
  const [step, ...rest] = path;
  if (step === undefined) return operand;
  switch (operand.type.family) {
    case "map":
      return walk(mapValue(operand, step, context), rest, context);
    case "json":
      return walk(jsonPath(operand, step), rest, context);
    case "tuple": {
      const [head, tail] = splitStep(step);
      return walk(tupleMember(operand, head, context), tail === undefined ? rest : [tail, ...rest], context);
    }
    case "array":
      if (step.kind === "index") return walk(arrayElement(operand, step.index), rest, context);
      return walk(intoArray(operand), path, context);
    case "text":
      if (operand.type.name === "String") return textPath(operand, path, context);
      break;
    default:
      if (operand.type === dynamic) return walk(jsonPath(operand, step), rest, context);
  }
  throw new FilterError(`${context.span.text}: a value of type ${operand.type.text} has no members`, context.span.at);
}

function mapValue(operand: Operand, step: FieldStep, { span, schema, params }: Context): Operand {
  const [keyType, valueType] = operand.type.items as [ColumnType, ColumnType];
  const key = step.kind === "index" ? String(step.index) : step.text;
  if (keyType.family === "integer" && !/^-?\d{1,19}$/.test(key)) {
    throw new FilterError(`${span.text}: the keys of this map are numbers`, span.at);
  }
  const bound = params.bind(key, keyType.family === "integer" ? "Int64" : "String");
  const indexed = isIndexed(schema, "mapKeys", operand.sql);
  return {
    ...operand,
    sql: `${operand.sql}[${bound}]`,
    type: valueType,
    nullable: valueType.nullable,
    hint: indexed ? `indexHint(mapContains(${operand.sql}, ${bound}))` : undefined,
  };
}

/** A path inside a JSON column is one subcolumn: `J`.`a`.`b`. Missing paths are NULL. */
function jsonPath(operand: Operand, step: FieldStep): Operand {
  const members =
    step.kind === "dotted" ? step.text.split(".") : [step.kind === "key" ? step.text : String(step.index)];
  const sql = [operand.sql, ...members.filter((member) => member !== "").map(identifier)].join(".");
  const isNumber = `match(dynamicType(CAST(${sql} AS Dynamic)), '^(U?Int|Float)')`;
  return { ...operand, sql, type: dynamic, nullable: true, isNumber };
}

function tupleMember(operand: Operand, name: string, { span, params }: Context): Operand {
  const { names, items } = operand.type;
  const position = names.includes(name) ? names.indexOf(name) : /^\d{1,4}$/.test(name) ? Number(name) - 1 : -1;
  const type = items[position];
  if (type === undefined) {
    const known = names.length > 0 ? `; it has ${names.slice(0, 10).join(", ")}` : "";
    throw new FilterError(`${span.text}: the tuple has no member ${name}${known}`, span.at, "UNKNOWN_COLUMN");
  }
  const member = names.length > 0 ? params.bind(names[position] as string, "String") : String(position + 1);
  return { ...operand, sql: `tupleElement(${operand.sql}, ${member})`, type, nullable: type.nullable, hint: undefined };
}

function arrayElement(operand: Operand, index: number): Operand {
  const type = operand.type.items[0] as ColumnType;
  return { ...operand, sql: `${operand.sql}[${index}]`, type, nullable: type.nullable, hint: undefined };
}

/** Steps into an array: from here on the operand is one element. */
export function intoArray(operand: Operand): Operand {
  const type = operand.type.items[0] as ColumnType;
  const variable = `e${operand.arrays.length}`;
  return {
    sql: variable,
    type,
    nullable: type.nullable,
    arrays: [...operand.arrays, { sql: operand.sql, variable }],
    hint: undefined,
  };
}

/** A path below a text column reads the text as a JSON document. NULL where the path or the document is missing. */
function textPath(operand: Operand, path: readonly FieldStep[], { params }: Context): Operand {
  const keys = path.flatMap((step) => {
    if (step.kind === "index") return [String(step.index)];
    const names = step.kind === "dotted" ? step.text.split(".").filter((name) => name !== "") : [step.text];
    return names.map((name) => params.bind(name, "String"));
  });
  const sql = `JSONExtract(${[operand.sql, ...keys].join(", ")}, 'Nullable(String)')`;
  const isNumber = `JSONType(${[operand.sql, ...keys].join(", ")}) IN ('Int64', 'UInt64', 'Double')`;
  return { ...operand, sql, type: text, nullable: true, hint: undefined, isNumber };
}

/** The first member of a step, and the rest of it if the step is dotted. */
function splitStep(step: FieldStep): [string, FieldStep | undefined] {
  if (step.kind === "index") return [String(step.index), undefined];
  if (step.kind === "key") return [step.text, undefined];
  const dot = step.text.indexOf(".");
  if (dot < 0) return [step.text, undefined];
  return [step.text.slice(0, dot), { kind: "dotted", text: step.text.slice(dot + 1) }];
}
