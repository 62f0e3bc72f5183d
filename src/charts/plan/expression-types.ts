/**
 * Types of the expressions of one query. Every part of a query is written first; then the engine is asked once for the
 * types that only it knows; then the parts are finished with them.
 */
import type { ColumnType } from "../../clickhouse/types.ts";
import type { Params } from "../columns/params.ts";
import type { PlanInput } from "./plan.ts";

export type TypedExpression = { readonly sql: string; readonly type: ColumnType; readonly volatile: boolean };

/** A part of a query that can be finished once the types are known. */
export type Typed<T> = () => T;

/** Without a type, the engine is asked for it. */
type Written = { readonly sql: string; readonly type?: ColumnType | undefined; readonly volatile: boolean };

export class ExpressionTypes {
  readonly #unknown: string[] = [];
  #types: readonly ColumnType[] | undefined;

  /** The expressions with their types, to be called after `ask`. */
  expect(expressions: readonly Written[]): Typed<TypedExpression[]> {
    const places = expressions.map(({ sql, type }) => (type === undefined ? this.#unknown.push(sql) - 1 : -1));
    return () => {
      const types = this.#types;
      if (types === undefined) throw new TypeError("the types are not known yet");
      return expressions.map(({ sql, type, volatile }, i) => {
        return { sql, volatile, type: type ?? (types[places[i] as number] as ColumnType) };
      });
    };
  }

  /** Asks the engine once for all types that are not known. Throws AppError for expressions that have none. */
  async ask(input: Pick<PlanInput, "typesOf">, params: Params): Promise<void> {
    this.#types = this.#unknown.length === 0 ? [] : await input.typesOf(this.#unknown, params);
  }
}
