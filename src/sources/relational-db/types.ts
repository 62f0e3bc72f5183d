/**
 * How a value of Postgres becomes a value of the engine. The engine itself converts, from the text that Postgres
 * prints: directly where its TabSeparated parser reads that text right, otherwise by an SQL expression over a String.
 * `docs/postgres-types.md` is the table of it.
 */
import type { SourceColumn } from "./catalog.ts";

export type ColumnPlan = {
  /** Name in source and destination. */
  readonly name: string;
  /** Type in the structure of `input('...')`. */
  readonly input: string;
  /** Type of the destination column. */
  readonly type: string;
  /** SQL over the input column, where the value is not passed through as it is. */
  readonly expression?: string;
};

export type PlanOptions = {
  /** `allowNullableColumns`. */
  readonly nullable: boolean;
  /** Part of the sorting key: never Nullable. */
  readonly key: boolean;
};

/** Engine settings that every insert of converted rows needs. */
export const insertSettings = {} as const satisfies Readonly<Record<string, string | number>>;

/** The plan of one column. Total: a type that is not known becomes a String of its text. */
export function columnPlan(column: SourceColumn, options: PlanOptions): ColumnPlan {
  throw new Error(`not built: ${column.name} ${options.key}`);
}
