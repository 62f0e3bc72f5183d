import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useState } from "react";
import { classes } from "../lib/classes.ts";
import { Button } from "./button.tsx";
import css from "./table.module.css";

export type Sort<Key extends string = string> = { readonly key: Key; readonly order: "asc" | "desc" };

export type Column<Row, Key extends string = string> = {
  readonly key: Key;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** `end`: numbers. */
  readonly align?: "end";
  readonly nowrap?: boolean;
  /** The header sorts by this column. */
  readonly sortable?: boolean;
};

type TableProps<Row, Key extends string> = {
  /** What the rows are; for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row, Key>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly sort?: Sort<Key>;
  readonly onSort?: (sort: Sort<Key>) => void;
  /** Scrolls by itself where it has many rows and other things stand below it. */
  readonly tall?: boolean;
  /** Shown instead of a table without rows. */
  readonly none?: ReactNode;
};

/** Rows that a narrow screen shows at first, as `table.module.css` says. */
const foldedRows = 10;

/** A table of some hundred rows at most; long results have a grid of their own. */
export function Table<Row, Key extends string>(props: TableProps<Row, Key>) {
  const { label, columns, rows, rowKey, sort, onSort, tall, none } = props;
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
              <Header key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td
                  key={column.key}
                  className={cellClass(column)}
                  data-label={typeof column.header === "string" ? column.header : undefined}
                >
                  {column.cell(row)}
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
  const order = sort?.key === column.key ? sort.order : undefined;
  if (!column.sortable || onSort === undefined) {
    return (
      <th scope="col" className={cellClass(column)}>
        {column.header || <span className="visually-hidden">Actions</span>}
      </th>
    );
  }
  // The largest numbers are looked for first.
  const first = column.align === "end" ? "desc" : "asc";
  const next = order === undefined ? first : order === "asc" ? "desc" : "asc";
  const Icon = order === "desc" ? ArrowDown : ArrowUp;
  const ariaSort = order === undefined ? undefined : order === "asc" ? "ascending" : "descending";
  return (
    <th scope="col" className={cellClass(column)} aria-sort={ariaSort}>
      <button type="button" className={`plain ${css.sort}`} onClick={() => onSort({ key: column.key, order: next })}>
        {column.header}
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
