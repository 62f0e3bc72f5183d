import { ArrowDown, ArrowUp } from "lucide-react";
import { memo } from "react";
import { type GridColumn, isNumeric, type ValueKind } from "../lib/values.ts";
import css from "./grid.module.css";
import type { GridSort } from "./rows.ts";

type GridHeaderProps = {
  readonly columns: readonly GridColumn[];
  readonly kinds: readonly ValueKind[];
  readonly sort: GridSort | undefined;
  readonly onSort: (sort: GridSort | undefined) => void;
};

/** Names and types; a click sorts ascending, then descending, then not at all. */
export const GridHeader = memo(function GridHeader({ columns, kinds, sort, onSort }: GridHeaderProps) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" className={css.corner}>
          <span className="visually-hidden">Row</span>
        </th>
        {columns.map(({ name, type }, column) => {
          const order = sort?.column === column ? sort : undefined;
          return (
            <th
              // biome-ignore lint/suspicious/noArrayIndexKey: names of columns repeat.
              key={column}
              scope="col"
              aria-sort={order === undefined ? undefined : order.descending ? "descending" : "ascending"}
              className={isNumeric(kinds[column] as ValueKind) ? css.headEnd : css.head}
            >
              <button
                type="button"
                className={`plain ${css.sort}`}
                title={`${name}: ${type}`}
                onClick={() => onSort(next(order, column))}
              >
                <span className={css.name}>
                  {name}
                  {order !== undefined &&
                    (order.descending ? <ArrowDown size={12} aria-hidden /> : <ArrowUp size={12} aria-hidden />)}
                </span>
                <span className={css.type}>{type}</span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
});

function next(order: GridSort | undefined, column: number): GridSort | undefined {
  if (order === undefined) return { column, descending: false };
  return order.descending ? undefined : { column, descending: true };
}
