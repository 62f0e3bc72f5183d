import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { cellText, type GridColumn, type GridRow, kindOf } from "../lib/values.ts";
import { copyText as copyToClipboard } from "../parts/copy-button.tsx";
import { late } from "../parts/late.tsx";
import css from "./grid.module.css";
import { GridHeader } from "./grid-header.tsx";
import { cellId, Row } from "./grid-row.tsx";
import { GridTools } from "./grid-tools.tsx";
import { moved, type Place } from "./movement.ts";
import { columnWidths, type GridSort, shownRows } from "./rows.ts";

const CellInspector = late(async () => (await import("./cell-inspector.tsx")).CellInspector);

export type ResultGridProps = {
  readonly label: string;
  readonly columns: readonly GridColumn[];
  /** May grow in place: `rowCount` says how many there are. */
  readonly rows: readonly GridRow[];
  readonly rowCount: number;
};

const rowHeight = 28;
const pageRows = 15;

/** A result of any number of rows: sorted, filtered, copied, read cell by cell with the keyboard. */
export function ResultGrid({ label, columns, rows, rowCount }: ResultGridProps) {
  const [sort, setSort] = useState<GridSort>();
  const [text, setText] = useState("");
  const [active, setActive] = useState<Place>();
  const [inspected, setInspected] = useState<Place>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows grow in place.
  const shown = useMemo(() => shownRows(columns, rows, text, sort), [columns, rows, rowCount, text, sort]);
  const value = (place: Place) => rows[shown[place.row] as number]?.[place.column];
  /** Shows the same column of another row, and moves the active cell with it. */
  const stepTo = (row: number) => {
    const place = inspected && row >= 0 && row < shown.length ? { ...inspected, row } : undefined;
    return (
      place &&
      (() => {
        setInspected(place);
        setActive(place);
      })
    );
  };
  return (
    <div className={css.grid}>
      <GridTools
        text={text}
        onText={setText}
        shown={shown.length}
        total={rowCount}
        columns={columns}
        rowsToCopy={() => shown.map((place) => rows[place] as GridRow)}
      />
      <Cells
        {...{ label, columns, rows, rowCount, shown, sort, active }}
        onSort={setSort}
        onActive={setActive}
        onInspect={setInspected}
        onCopy={(place) => void copyToClipboard(cellText(value(place)))}
      />
      {inspected !== undefined && columns[inspected.column] !== undefined && (
        <CellInspector
          columns={columns}
          at={inspected.column}
          number={(shown[inspected.row] ?? 0) + 1}
          row={rows[shown[inspected.row] as number] ?? []}
          onStep={{ "Previous row": stepTo(inspected.row - 1), "Next row": stepTo(inspected.row + 1) }}
          onClose={() => setInspected(undefined)}
        />
      )}
    </div>
  );
}

type CellsProps = ResultGridProps & {
  readonly shown: readonly number[];
  readonly sort: GridSort | undefined;
  readonly active: Place | undefined;
  readonly onSort: (sort: GridSort | undefined) => void;
  readonly onActive: (place: Place) => void;
  readonly onInspect: (place: Place) => void;
  readonly onCopy: (place: Place) => void;
};

function Cells(props: CellsProps) {
  const { label, columns, rows, rowCount, shown, active } = props;
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first rows decide, and they come together.
  const widths = useMemo(() => columnWidths(columns, rows), [columns, rows, Math.min(rowCount, 50)]);
  const kinds = useMemo(() => columns.map(({ type }) => kindOf(type)), [columns]);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const numberWidth = 22 + 8 * String(rowCount).length;
  const across = useColumnsInView(frame, widths, numberWidth);
  const go = (place: Place) => {
    props.onActive(place);
    virtual.scrollToIndex(place.row);
    across.scrollTo(place.column);
  };
  const items = virtual.getVirtualItems();
  const [above, below] = [items[0]?.start ?? 0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0)];
  return (
    <div ref={frame} className={css.frame}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid whose cells the arrow keys reach.
        role="grid"
        aria-label={label}
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length + 1}
        aria-activedescendant={active === undefined ? undefined : cellId(id, active)}
        tabIndex={0}
        className={css.table}
        style={{ width: numberWidth + widths.reduce((sum, width) => sum + width, 0) }}
        onKeyDown={(event) => onKey(event, props, go)}
      >
        <colgroup>
          <col style={{ width: numberWidth }} />
          {widths.map((width, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other identity.
            <col key={at} style={{ width }} />
          ))}
        </colgroup>
        <GridHeader columns={columns} kinds={kinds} sort={props.sort} onSort={props.onSort} />
        <tbody>
          <Space height={above} />
          {items.map(({ index }) => (
            <Row
              key={index}
              {...{ id, index, kinds, from: across.from, to: across.to }}
              number={(shown[index] as number) + 1}
              row={rows[shown[index] as number] as GridRow}
              active={active?.row === index ? active.column : undefined}
              onActive={props.onActive}
              onInspect={props.onInspect}
            />
          ))}
          <Space height={below} />
        </tbody>
      </table>
    </div>
  );
}

/** Which columns are drawn: those in view, and one at each side. */
function useColumnsInView(frame: RefObject<HTMLElement | null>, widths: readonly number[], numberWidth: number) {
  const virtual = useVirtualizer({
    horizontal: true,
    count: widths.length,
    getScrollElement: () => frame.current,
    estimateSize: (column) => widths[column] as number,
    overscan: 1,
    // The numbers of the rows cover what lies there.
    paddingStart: numberWidth,
    scrollPaddingStart: numberWidth,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes are kept until they are measured again.
  useLayoutEffect(() => virtual.measure(), [virtual, widths]);
  const items = virtual.getVirtualItems();
  return {
    from: items[0]?.index ?? 0,
    to: (items.at(-1)?.index ?? -1) + 1,
    scrollTo: (column: number) => virtual.scrollToIndex(column),
  };
}

function onKey(
  event: KeyboardEvent,
  { active, shown, columns, onInspect, onCopy }: CellsProps,
  go: (place: Place) => void,
) {
  if ((event.target as Element).tagName !== "TABLE") return;
  if (active !== undefined && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    onInspect(active);
  } else if (active !== undefined && event.key === "c" && (event.ctrlKey || event.metaKey)) onCopy(active);
  else {
    const next = moved(active, event, { rows: shown.length, columns: columns.length, page: pageRows });
    if (next === undefined) return;
    event.preventDefault();
    go(next);
  }
}

/** Room for the rows that are not drawn. */
function Space({ height }: { readonly height: number }) {
  return height <= 0 ? null : (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it is room, and takes no focus.
    <tr aria-hidden="true" className={css.space}>
      <td style={{ height }} />
    </tr>
  );
}
