import { useInfiniteQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import type { SeriesDefinition } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import { countText, durationText } from "../../lib/format.ts";
import { cellText, kindOf, timeOf } from "../../lib/values.ts";
import { timeText, zoneStore, zoneText } from "../../lib/zone.ts";
import { Button } from "../../parts/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import css from "./explore.module.css";
import type { AddFilter } from "./field-sidebar.tsx";
import { RowDetails } from "./row-details.tsx";
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
};

/** Rows that match the filter of the first series, newest first. */
export function RowsPanel({ source, bounds, isPart, filter, onWhole, onFilter }: RowsPanelProps) {
  const rows = useRows(source, bounds, filter);
  const pages = rows.data?.pages ?? [];
  const all = pages.flatMap(({ data }) => data);
  const elapsed = pages.reduce((sum, { meta }) => sum + meta.elapsedMs, 0);
  return (
    <section className={`surface ${css.rows}`} aria-label="Rows">
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
              {timeText(bounds.from)} to {timeText(bounds.to)}, {zoneText(bounds.to)}
            </span>
            <Button small onClick={onWhole}>
              Rows of the whole range
            </Button>
          </>
        )}
      </div>
      <RowList error={rows.error as ApiError | null} isLoading={rows.isPending} {...{ source, pages, all, onFilter }} />
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
    enabled: bounds !== undefined && source.kind !== "metric",
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false,
  });
}

type RowListProps = {
  readonly source: Source;
  readonly pages: readonly Page[];
  readonly all: Page["data"];
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly onFilter: AddFilter;
};

function RowList({ source, pages, all, error, isLoading, onFilter }: RowListProps) {
  if (source.kind === "metric")
    return <EmptyState title="Metrics have no rows">Points of metrics are numbers: the chart shows them.</EmptyState>;
  if (error?.code === "SERVICE_ASLEEP") return <p className="muted">Rows appear when the service runs.</p>;
  if (error !== null && error.status !== 400) return <ErrorState error={error} />;
  if (error !== null) return <p className="muted">The filter has a mistake.</p>;
  if (isLoading) return <Skeleton lines={8} />;
  if (all.length === 0)
    return (
      <EmptyState title="No rows">
        No row of this time range matches. Choose a longer range or fewer conditions.
      </EmptyState>
    );
  const columns = pages[0]?.meta.columns ?? [];
  return (
    <ul>
      {all.map((row, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id, and are only added at the end.
        <RowItem key={at} {...{ source, columns, row, onFilter }} />
      ))}
    </ul>
  );
}

type RowItemProps = {
  readonly source: Source;
  readonly columns: Page["meta"]["columns"];
  readonly row: Page["data"][number];
  readonly onFilter: AddFilter;
};

function RowItem({ source, columns, row, onFilter }: RowItemProps) {
  const [isOpen, setOpen] = useState(false);
  const { time, severity, service, text } = rowSummary(source, columns, row);
  return (
    <li className={css.rowItem} data-open={isOpen || undefined}>
      <button
        type="button"
        className={`plain ${css.rowButton}`}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight size={14} aria-hidden className={css.chevron} />
        <span className={css.rowTime}>{time}</span>
        {severity !== undefined && (
          <span className={css.severity} data-level={severity.toLowerCase().slice(0, 3)}>
            {severity}
          </span>
        )}
        {service !== undefined && <span className={`cut ${css.rowService}`}>{service}</span>}
        <span className={`cut ${css.rowText}`}>{text}</span>
      </button>
      {isOpen && <RowDetails columns={columns} row={row} onFilter={onFilter} />}
    </li>
  );
}

type RowSummary = {
  readonly time: string;
  readonly severity: string | undefined;
  readonly service: string | undefined;
  readonly text: string;
};

type Column = { readonly name: string; readonly type: string };
type Named = Pick<
  Source,
  | "timestampValueExpression"
  | "severityTextExpression"
  | "serviceNameExpression"
  | "bodyExpression"
  | "implicitColumnExpression"
>;

const longest = 400;

function rowSummary(source: Named, columns: readonly Column[], row: Readonly<Record<string, unknown>>): RowSummary {
  const named = (name: string | undefined) =>
    name !== undefined && columns.some((one) => one.name === name) ? name : undefined;
  const time =
    named(source.timestampValueExpression?.split(",")[0]?.trim()) ??
    columns.find(({ type }) => kindOf(type) === "time")?.name;
  const timeType = columns.find(({ name }) => name === time)?.type;
  const severity = named(source.severityTextExpression);
  const service = named(source.serviceNameExpression);
  const body = named(source.bodyExpression) ?? named(source.implicitColumnExpression);
  const used = new Set([time, severity, service]);
  const others = columns.filter(({ name }) => !used.has(name));
  const text =
    body === undefined ? others.map(({ name }) => `${name}=${cellText(row[name])}`).join("  ") : cellText(row[body]);
  return {
    time: time === undefined ? "" : timeCell(row[time], timeType ?? ""),
    severity: severity === undefined ? undefined : cellText(row[severity]),
    service: service === undefined ? undefined : cellText(row[service]),
    text: text.slice(0, longest),
  };
}

/** A time in the zone of the console, to the millisecond where the row has them. */
function timeCell(value: unknown, type: string): string {
  const text = cellText(value);
  const time = timeOf(value, type);
  if (Number.isNaN(time) || !text.includes(":")) return text;
  return `${timeText(time)}${/\.\d{1,3}/.exec(text)?.[0] ?? ""}`;
}
