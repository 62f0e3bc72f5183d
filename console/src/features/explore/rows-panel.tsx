import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import type { SeriesDefinition } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import { countText, durationText } from "../../lib/format.ts";
import { timeText, zoneStore, zoneText } from "../../lib/zone.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import css from "./explore.module.css";
import type { AddFilter } from "./field-sidebar.tsx";
import { placeOf, type Row } from "./row.ts";
import { RowDetails, RowList } from "./row-list.tsx";
import type { Source } from "./source.ts";

type Page = OperationResult<"searchRows">;

type RowsPanelProps = {
  readonly source: Source;
  readonly bounds: Bounds | undefined;
  /** The rows are those of one moment of the chart. */
  readonly isPart: boolean;
  readonly filter: SeriesDefinition | undefined;
  readonly onWhole: () => void;
  readonly onFilter: AddFilter;
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[]) => void;
};

/** Rows that match the filter of the first series, newest first. */
export function RowsPanel(props: RowsPanelProps) {
  const { source, bounds, isPart, filter, onWhole, onFilter, columns, onColumns } = props;
  const rows = useRows(source, bounds, filter);
  const pages = rows.data?.pages ?? [];
  const all = pages.flatMap(({ data }) => data);
  const [open, setOpen] = useState<Row>();
  const at = open === undefined ? -1 : placeOf(all, open);
  const body = useRef<HTMLDivElement>(null);
  const show = (row: Row | undefined) => {
    if (row === undefined) body.current?.querySelector<HTMLElement>("li > [aria-expanded=true]")?.focus();
    setOpen(row);
  };
  const onKeyDown = ({ key }: KeyboardEvent) => key === "Escape" && open !== undefined && show(undefined);
  const elapsed = pages.reduce((sum, { meta }) => sum + meta.elapsedMs, 0);
  return (
    <section id="rows" tabIndex={-1} className="surface" aria-label="Rows">
      <div className={`row ${css.rowsHead}`}>
        <h2>Rows</h2>
        {pages.length > 0 && (
          <span className="muted">
            {countText(all.length)}
            {rows.hasNextPage ? " newest" : ""} · {durationText(elapsed / 1000)}
          </span>
        )}
        {isPart && bounds !== undefined && (
          <>
            <span className="muted">
              {timeText(bounds.from)} to {timeText(bounds.to)}, {zoneText(bounds.from, bounds.to)}
            </span>
            <Button small onClick={onWhole}>
              Rows of the whole range
            </Button>
          </>
        )}
      </div>
      {columns.length > 0 && (
        <ul className={`row ${css.columns}`} aria-label="Columns">
          {columns.map((name) => (
            <li key={name}>
              <code>{name}</code>
              <IconButton
                small
                label={`Without the column ${name}`}
                icon={X}
                onClick={() => onColumns(columns.filter((one) => one !== name))}
              />
            </li>
          ))}
        </ul>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Esc of the controls in it. */}
      <div ref={body} className={css.rowsBody} data-open={open !== undefined || undefined} onKeyDown={onKeyDown}>
        <RowList
          error={rows.error as ApiError | null}
          isLoading={rows.isPending}
          {...{ source, all, columns, at }}
          types={pages[0]?.meta.columns ?? []}
          onOpen={show}
        />
        {open !== undefined && (
          <RowDetails
            {...{ all, at, columns, onFilter, onColumns }}
            types={pages[0]?.meta.columns ?? []}
            row={open}
            onRow={show}
          />
        )}
      </div>
      {rows.isFetchNextPageError && <Note tone="warn">Older rows could not be loaded. {rows.error.message}</Note>}
      {rows.hasNextPage && (
        <div className="more">
          <Button busy={rows.isFetchingNextPage} onClick={() => void rows.fetchNextPage()}>
            Older rows
          </Button>
        </div>
      )}
    </section>
  );
}

function useRows(source: Source, bounds: Bounds | undefined, filter: SeriesDefinition | undefined) {
  const { where = "", whereLanguage = "lucene" as const } = filter ?? {};
  const body = {
    sourceId: source.id,
    startTime: bounds?.from ?? 0,
    endTime: bounds?.to ?? 0,
    where,
    whereLanguage,
    timezone: zoneStore.get(),
    wake: "never" as const,
  };
  return useInfiniteQuery({
    queryKey: ["searchRows", body],
    queryFn: ({ pageParam, signal }) =>
      call(
        "searchRows",
        { params: {}, body: { ...body, limit: 100, ...(pageParam === undefined ? {} : { cursor: pageParam }) } },
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }: Page) => nextCursor,
    // The rows before stay until those of a range that goes on are there.
    placeholderData: keepPreviousData,
    enabled: bounds !== undefined && source.kind !== "metric",
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false,
  });
}
