/** Values that callers send and queries bind, and the columns that queries read. */
import { Budget } from "./budget.ts";

/**
 * The bound values of one query. Text of a caller reaches the engine only through here, as a `{name:Type}` parameter,
 * so no filter or expression can become SQL.
 */
export class Params {
  /** What the query that these values belong to may still grow by. */
  readonly budget = new Budget();
  readonly #names = new Map<string, string>();
  readonly #values: Record<string, string> = {};
  /** Names of all columns that the query reads. */
  readonly columns = new Set<string>();
  readonly #observers: Set<string>[] = [];

  /** Binds a value and returns the placeholder to put into the SQL. Equal values share one parameter. */
  bind(value: string, type: string): string {
    const key = `${type}\0${value}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `p${this.#names.size}`;
      this.#names.set(key, name);
      this.#values[name] = escapeText(value);
      this.budget.note(Buffer.byteLength(value));
    }
    return `{${name}:${type}}`;
  }

  /** Notes that the query reads a column. */
  reads(column: string): void {
    this.columns.add(column);
    for (const observer of this.#observers) observer.add(column);
  }

  /** The result of `write`, and the columns that it notes. */
  observe<T>(write: () => T): { readonly result: T; readonly columns: ReadonlySet<string> } {
    const columns = new Set<string>();
    this.#observers.push(columns);
    try {
      return { result: write(), columns };
    } finally {
      this.#observers.pop();
    }
  }

  /** The values in the engine's escaped text form, by parameter name. */
  values(): Readonly<Record<string, string>> {
    return this.#values;
  }
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0" };

/** Parameters travel in the engine's TSV text form: one field, these characters escaped. */
export function escapeText(value: string): string {
  return value.replace(/[\\\t\n\r\0]/g, (char) => escapes[char] as string);
}
