/**
 * How large one query may become. It is counted while it is written, before any text is joined: what a caller sends is
 * short, what stands for it need not be, and every copy counts again.
 */
import { FilterError } from "../filter/syntax.ts";

/** Functions, operators, values and columns of all expressions and filters of one query. */
export const maxWrittenNodes = 5000;
/** Text of one query and its bound values, in bytes. The engine itself reads no more of a statement. */
export const maxWrittenBytes = 262_144;
/** Levels of parentheses; the engine's parser gives up beyond about 250. */
export const maxWrittenDepth = 150;

export class Budget {
  #nodes = 0;
  #bytes = 0;

  get nodes(): number {
    return this.#nodes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts what is about to be written for the part of the caller's text at `position`. Throws FilterError. */
  spend(nodes: number, bytes: number, position: number): void {
    this.#nodes += nodes;
    this.#bytes += bytes;
    if (this.#nodes > maxWrittenNodes) {
      throw new FilterError(`the query would have more than ${maxWrittenNodes} parts; ask for less at once`, position);
    }
    if (this.#bytes > maxWrittenBytes) throw new FilterError(tooLong, position);
  }

  /** Counts a bound value. What is beyond the limit is refused when the text that holds it is written. */
  note(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** What is said of a query beyond `maxWrittenBytes`. */
export const tooLong = `the query would be longer than ${maxWrittenBytes} bytes; ask for less at once`;

/** Whether a finished query, in which conditions stand more than once, is beyond `maxWrittenBytes`. */
export function isTooLong({ sql, params }: { sql: string; params: { readonly budget: Budget } }): boolean {
  return Math.max(sql.length, params.budget.bytes) > maxWrittenBytes;
}
