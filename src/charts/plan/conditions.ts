/** The parts of a query that come from the caller's texts: conditions, group expressions, the time of a row. */

import { type ColumnType, parseType } from "../../clickhouse/types.ts";
import { badRequest } from "../../lib/errors.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import { type Operand, resolveField } from "../columns/operand.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { at } from "../errors.ts";
import { emitExpression, emitExpressions } from "../expression/emit.ts";
import { compileFilter, maxImplicitColumns } from "../filter/compile.ts";
import { parseFilter } from "../filter/parser.ts";
import { FilterError } from "../filter/syntax.ts";
import { type ExpressionTypes, type PlanInput, pathOf, type Series, type Typed, type TypedExpression } from "./plan.ts";

export type ConditionOf = {
  /** The condition of WHERE: as written, so that indexes can be used. Undefined when every row is meant. */
  readonly sql: string | undefined;
  /** The condition of aggregates: 1 or 0, never NULL. */
  readonly flag: string;
  readonly volatile: boolean;
  /** The columns that it reads. */
  readonly columns: ReadonlySet<string>;
};

type ConditionInput = Pick<PlanInput, "series" | "source" | "schema" | "warn"> & {
  readonly buckets: Pick<PlanInput["buckets"], "zone">;
};

/** The condition of each series. A long text is a turn of its own. */
export async function conditionsOf(input: ConditionInput, params: Params): Promise<ConditionOf[]> {
  const conditions: ConditionOf[] = [];
  const { source, schema } = input;
  const text = source.implicitColumnExpression ?? source.bodyExpression;
  // Written only for a filter that has a bare word: until then its columns are not read.
  const implicit = () => implicitText(text, schema, params);
  for (const series of input.series) {
    await yieldWhenLong();
    const { result, columns } = params.observe(() => conditionOf(series, { ...input, implicit }, params));
    conditions.push({ ...result, columns });
  }
  return conditions;
}

function conditionOf(
  series: Series,
  input: Omit<ConditionInput, "series" | "source"> & { readonly implicit: () => readonly Operand[] },
  params: Params,
): Omit<ConditionOf, "columns"> {
  const found = conditionTextsOf(series).flatMap((text) => compiled(text, input, params) ?? []);
  const [only, ...others] = found;
  if (only === undefined) return { sql: undefined, flag: "1", volatile: false };
  if (others.length === 0) return only;
  const all = (texts: readonly string[]) => `(${texts.map((text) => `(${text})`).join(" AND ")})`;
  return {
    sql: all(found.map(({ sql }) => sql)),
    flag: all(found.map(({ flag }) => flag)),
    volatile: found.some(({ volatile }) => volatile),
  };
}

type ConditionText = { readonly path: string; readonly language: "lucene" | "sql"; readonly text: string };

/** The condition of a series and its filters, without empty ones. */
export function conditionTextsOf(series: Series): ConditionText[] {
  const { where, whereLanguage, filters = [] } = series.item;
  return [
    { path: pathOf(series, "where"), language: whereLanguage, text: where },
    ...filters.map(({ type, condition }, i) => {
      return { path: `${pathOf(series, "filters")}.${i}.condition`, language: type, text: condition };
    }),
  ].filter(({ text }) => text.trim() !== "");
}

function compiled(
  { path, language, text }: ConditionText,
  { schema, buckets, implicit, warn: warnAt }: Parameters<typeof conditionOf>[1],
  params: Params,
): { sql: string; flag: string; volatile: boolean } | undefined {
  if (language === "sql") {
    const emitted = at(path, () => emitExpression(text, schema, params));
    const sql = `(${emitted.sql})`;
    return { sql, flag: `ifNull(${sql} != 0, false)`, volatile: emitted.volatile };
  }
  const condition = at(path, () => {
    const warn = (message: string, position: number) => warnAt(path, `${message} (at position ${position})`);
    return compileFilter(parseFilter(text, warn), { schema, params, zone: buckets.zone, implicit, warn });
  });
  if (condition === undefined) return undefined;
  const { sql, nullable } = condition;
  return { sql, flag: nullable ? `ifNull(${sql}, false)` : sql, volatile: false };
}

function implicitText(text: string | undefined, schema: TableSchema, params: Params): Operand[] {
  if (text === undefined) return [];
  const path = "source.implicitColumnExpression";
  const emitted = at(path, () => emitExpressions(text, schema, params));
  if (emitted.length > maxImplicitColumns) throw badRequest(path, `has more than ${maxImplicitColumns} columns`);
  return emitted.map(({ sql, type = parseType("String") }) => ({
    sql,
    type,
    nullable: type.nullable,
    arrays: [],
    hint: undefined,
  }));
}

/** Writes the group expressions of the request, the same for all series. */
export async function groupExpressions(
  input: PlanInput,
  params: Params,
  types: ExpressionTypes,
): Promise<Typed<TypedExpression[]>> {
  const { schema } = input;
  const texts = input.series[0]?.item.groupBy ?? [];
  const emitted: { sql: string; type: ColumnType | undefined; volatile: boolean }[] = [];
  for (const [i, text] of texts.entries()) {
    await yieldWhenLong();
    emitted.push(at(`series.0.groupBy.${i}`, () => expressionOrPath(text, schema, params)));
  }
  const typed = types.expect(emitted);
  return () =>
    typed().map((expression, i) => {
      const { family } = expression.type;
      if (family === "aggregate") throw badRequest(`series.0.groupBy.${i}`, "an aggregate state cannot be grouped by");
      return groupable(expression);
    });
}

/** The value as the answer says it, so that groups are told apart and sorted by what the caller sees. */
function groupable(expression: TypedExpression): TypedExpression {
  const { sql, type } = expression;
  const text = parseType(type.nullable ? "Nullable(String)" : "String");
  // The engine does not group by Dynamic; its text form does not merge values that differ.
  if (type.family === "dynamic" || type.family === "json") {
    return { ...expression, sql: `CAST(${sql} AS Nullable(String))`, type: parseType("Nullable(String)") };
  }
  if (type.family === "enum") return { ...expression, sql: `toString(${sql})`, type: text };
  // As numbers of JSON, values that differ in their last digits would be one group.
  if (isWideDecimal(type)) return { ...expression, sql: `toString(${sql})` };
  // Only what fills it up to its length is left out.
  if (type.name === "FixedString") {
    return { ...expression, sql: `replaceRegexpOne(toString(${sql}), '\\\\x00+$', '')`, type: text };
  }
  return expression;
}

/** An expression, or a bare path such as `ResourceAttributes.k8s.pod-name`, which is not SQL. Throws FilterError. */
export function expressionOrPath(text: string, schema: TableSchema, params: Params) {
  try {
    return emitExpression(text, schema, params);
  } catch (error) {
    if (!(error instanceof FilterError) || !/^[^\s()'"`,[\]]+$/.test(text) || !text.includes(".")) throw error;
    try {
      const operand = resolveField([{ kind: "dotted", text }], { text, at: 0 }, schema, params);
      if (operand.arrays.length > 0) throw error;
      params.budget.spend(1, Buffer.byteLength(operand.sql), 0);
      return { sql: operand.sql, type: operand.type, volatile: false };
    } catch {
      throw error;
    }
  }
}

/** Which of the groups are numbers that the engine writes as text, for `RowDecoding`. */
export function numbersOf(groups: readonly TypedExpression[]): boolean[] {
  return groups.map(({ type }) => type.family === "integer" || isWideDecimal(type));
}

/** A number with more digits than a double holds. */
function isWideDecimal({ family, text }: ColumnType): boolean {
  return family === "decimal" && Number(/Decimal\((\d+)/.exec(text)?.[1] ?? 76) > 15;
}
