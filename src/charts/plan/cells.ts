/** Cells of the engine's JSON, and the rows of a plan that are made of them. */

/** How a cell of the engine's JSON becomes a value of the answer. */
export type CellKind =
  /** A JSON number; integers beyond 2^53 are rounded to the nearest one. */
  | "number"
  /** As the engine wrote it; integers that a JSON number cannot hold stay text. */
  | "raw";

export type Cell = string | number | boolean | null | readonly Cell[] | { readonly [key: string]: Cell };

/** One row of a plan: a bucket, a group, and the values of the plan's series in their order. */
export type PlanRow = { readonly bucket: number; readonly group: readonly Cell[]; readonly values: readonly Cell[] };

/** Reads a cell as the kind says. Total. */
export function readCell(cell: Cell, kind: CellKind): Cell {
  if (typeof cell !== "string" || kind === "raw") return cell;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** Reads a cell of a group; `isNumber`: one that the engine wrote as text. */
export function readGroup(cell: Cell, isNumber: boolean): Cell {
  if (!isNumber) return cell;
  // Every decimal of 15 digits is a double of its own.
  if (typeof cell === "string" && cell.length <= 17 && /^-?\d+\.\d+$/.test(cell)) return Number(cell);
  return readInteger(cell);
}

/** A 64-bit integer that the engine quoted: a number when a JSON number holds it exactly, else its digits. */
export function readInteger(cell: Cell): Cell {
  if (typeof cell !== "string" || !/^-?\d{1,16}$/.test(cell)) return cell;
  const value = Number(cell);
  return Number.isSafeInteger(value) ? value : cell;
}
