import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useState } from "react";
import { classes } from "../lib/classes.ts";
import { Button } from "./button.tsx";
import css from "./table.module.css";

export type Sort<Key extends string = string> = { readonly key: Key; readonly order: "asc" | "desc" };

export type Column<Row, Key extends string = string> = {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** `end`: numbers. */
  readonly align?: "end";
  readonly nowrap?: boolean;
  /** The header sorts the rows by this. */
  readonly sort?: Key;
};

type TableProps<Row, Key extends string> = {
  /** What the rows are; for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row, Key>[];
  readonly rows: readonly Row[];
  readonly sort?: Sort<Key>;
  readonly onSort?: (sort: Sort<Key>) => void;
  /** Scrolls by itself where it has many rows and other things stand below it. */
  readonly tall?: boolean;
  /** Shown instead of a table without rows. */
  readonly none?: ReactNode;
};

type RowKey<Row> = (row: Row) => string;
/** What tells the rows apart: their id, unless they have none. */
type Keyed<Row> = Row extends { readonly id: string }
  ? { readonly rowKey?: RowKey<Row> }
  : { readonly rowKey: RowKey<Row> };

/** Rows that a narrow screen shows at first, as `table.module.css` says. */
const foldedRows = 10;

/** A table of some hundred rows at most; long results have a grid of their own. */
export function Table<Row, Key extends string>(props: TableProps<Row, Key> & Keyed<Row>) {
  const { label, columns, rows, sort, onSort, tall, none } = props;
  const rowKey = props.rowKey ?? ((row: Row) => (row as { readonly id: string }).id);
  const [isWhole, setWhole] = useState(false);
  const isFolded = !isWhole && rows.length > foldedRows;
  if (none !== undefined && rows.length === 0) return none;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section className={classes(css.frame, tall && css.tall, isFolded && css.folded)} aria-label={label} tabIndex={0}>
      <table className={css.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Header key={column.header} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td key={column.header} className={cellClass(column)} data-label={column.header}>
                  <div className={css.cell}>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {isFolded && (
        <div className={`more ${css.rest}`}>
          <Button small onClick={() => setWhole(true)}>
            Show all {rows.length}
          </Button>
        </div>
      )}
    </section>
  );
}

type Value = string | number | undefined;
/** The order of names with numbers in them: `shard 2` before `shard 10`. */
export const byNumbers = new Intl.Collator("en", { numeric: true });

function compare(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return byNumbers.compare(String(a ?? ""), String(b ?? ""));
}

/** Rows in the order of a value that the reader chooses by its heading; at first as they are. */
export function useSorted<Row>(rows: readonly Row[], valueIn: (row: Row, key: string) => Value) {
  const [sort, onSort] = useState<Sort>();
  if (sort === undefined) return { rows, onSort };
  return { rows: sortedBy(rows, sort, valueIn), sort, onSort };
}

/** Numbers by their value, texts by the numbers in them. */
export function sortedBy<Row>(
  rows: readonly Row[],
  { key, order }: Sort,
  valueIn: (row: Row, key: string) => Value,
): readonly Row[] {
  const sign = order === "asc" ? 1 : -1;
  return rows.toSorted((a, b) => sign * compare(valueIn(a, key), valueIn(b, key)));
}

type HeaderProps<Row, Key extends string> = {
  readonly column: Column<Row, Key>;
  readonly sort: Sort<Key> | undefined;
  readonly onSort: ((sort: Sort<Key>) => void) | undefined;
};

function Header<Row, Key extends string>({ column, sort, onSort }: HeaderProps<Row, Key>) {
  const { header, sort: key, align } = column;
  if (key === undefined || onSort === undefined) {
    return (
      <th scope="col" className={cellClass(column)}>
        {header || <span className="visually-hidden">Actions</span>}
      </th>
    );
  }
  const order = sort?.key === key ? sort.order : undefined;
  // The largest numbers are looked for first.
  const first = align === "end" ? "desc" : "asc";
  const next = order === undefined ? first : order === "asc" ? "desc" : "asc";
  const Icon = order === "desc" ? ArrowDown : ArrowUp;
  const ariaSort = order === undefined ? undefined : order === "asc" ? "ascending" : "descending";
  return (
    <th scope="col" className={cellClass(column)} aria-sort={ariaSort}>
      <button type="button" className={`plain ${css.sort}`} onClick={() => onSort({ key, order: next })}>
        {header}
        <Icon aria-hidden style={{ opacity: order === undefined ? 0 : 1 }} />
      </button>
    </th>
  );
}

function cellClass<Row, Key extends string>({ align, nowrap }: Column<Row, Key>): string | undefined {
  return classes(align === "end" && css.end, nowrap && css.nowrap) || undefined;
}

/** The look of a row's main link. */
export const mainLinkClass = css.main;
