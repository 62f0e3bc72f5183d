/**
 * The fields of samples, as columns that a pipe can be created with. The engine infers `Nullable` types, which cannot
 * be part of a key: a field that could be one, and has a value in every sample, is therefore not `Nullable`.
 * One whose values have no common type is text, which each of them fits.
 */
import { ClickHouseError } from "../../clickhouse/client.ts";
import { identifier } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import type { FoundField } from "../contract/discovery.ts";

/** Settings of statements over samples: values of any types are read, and a type is on one line. */
export const inferenceSettings = { input_format_try_infer_variants: 1, print_pretty_type_names: 0 };

/** Types that rows are sorted by. */
const keyType = /^(U?Int\d+|String|FixedString\(\d+\)|UUID|IPv[46]|Date(32)?|DateTime(64)?(\([^()]*\))?)$/;

type Row = Readonly<Record<string, unknown>>;

/** `select` runs a SELECT of this expression over the samples. */
export async function foundFieldsOf(
  described: readonly Row[],
  select: (expression: string) => Promise<Row[]>,
): Promise<FoundField[]> {
  const fields = described.map(({ name, type }) => ({ name: String(name), type: columnTypeOf(String(type)) }));
  const candidates = fields.filter(({ type }) => keyType.test(bareType(type)) && type !== bareType(type));
  const filled = new Set(await withoutNull(candidates, select));
  return fields.map((field) => {
    const type = filled.has(field) ? bareType(field.type) : field.type;
    return { name: field.name, type, optional: type.startsWith("Nullable(") };
  });
}

async function withoutNull<T extends { readonly name: string }>(
  fields: readonly T[],
  select: (expression: string) => Promise<Row[]>,
): Promise<T[]> {
  if (fields.length === 0) return [];
  const nulls = fields.map(({ name }) => `countIf(isNull(${identifier(name)}))`);
  try {
    const [row] = await select(`[${nulls.join(", ")}] AS nulls`);
    const counts = row?.nulls as readonly unknown[];
    return fields.filter((_, at) => Number(counts[at]) === 0);
  } catch (error) {
    // Samples with a row that cannot be read: nothing is known of their values.
    if (error instanceof ClickHouseError || (error instanceof AppError && error.code === "SOURCE_INVALID")) return [];
    throw error;
  }
}

function columnTypeOf(inferred: string): string {
  return inferred.startsWith("Variant(") ? "Nullable(String)" : inferred;
}

function bareType(type: string): string {
  return /^Nullable\((.*)\)$/.exec(type)?.[1] ?? type;
}
