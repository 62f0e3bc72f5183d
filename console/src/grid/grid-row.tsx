import { memo } from "react";
import { cellText, type GridRow, isNumeric, type ValueKind } from "../lib/values.ts";
import css from "./grid.module.css";
import type { Place } from "./movement.ts";

/** Longer values are cut off in a cell; the inspector shows all. */
const cellCharacters = 300;

type RowProps = {
  readonly id: string;
  readonly index: number;
  readonly number: number;
  readonly row: GridRow;
  readonly kinds: readonly ValueKind[];
  /** The first column that is drawn, and the one after the last. */
  readonly from: number;
  readonly to: number;
  /** The column of the active cell. */
  readonly active: number | undefined;
  readonly onActive: (place: Place) => void;
  readonly onInspect: (place: Place) => void;
};

/** The number of a row and its cells in the columns from `from` to `to`. */
export const Row = memo(function Row({ id, index, number, row, kinds, from, to, active, ...events }: RowProps) {
  return (
    <tr aria-rowindex={index + 2} className={css.row}>
      <th scope="row" className={css.number}>
        {number}
      </th>
      <Skipped columns={from} />
      {kinds.slice(from, to).map((kind, at) => {
        const column = from + at;
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the table has the keyboard's events.
          <td
            key={column}
            id={cellId(id, { row: index, column })}
            aria-colindex={column + 2}
            className={isNumeric(kind) ? css.numeric : css.cell}
            data-null={row[column] === null || undefined}
            data-active={active === column || undefined}
            onClick={() => events.onActive({ row: index, column })}
            onDoubleClick={() => events.onInspect({ row: index, column })}
          >
            {cutText(row[column])}
          </td>
        );
      })}
      <Skipped columns={kinds.length - to} />
    </tr>
  );
});

/** Room for columns that are not drawn. */
function Skipped({ columns }: { readonly columns: number }) {
  return columns <= 0 ? null : <td aria-hidden="true" colSpan={columns} />;
}

/** The id of a cell's element in the grid `id`. */
export function cellId(id: string, { row, column }: Place): string {
  return `${id}-${row}-${column}`;
}

function cutText(value: unknown): string {
  const text = cellText(value);
  return text.length > cellCharacters ? `${text.slice(0, cellCharacters)}…` : text;
}
