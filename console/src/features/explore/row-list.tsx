import { ChevronDown, ChevronUp, Columns3, Minus, Plus, X } from "lucide-react";
import type { KeyboardEvent } from "react";
import type { ApiError } from "../../api/error.ts";
import { cellText, kindOf } from "../../lib/values.ts";
import { IconButton } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import css from "./explore.module.css";
import type { AddFilter } from "./field-sidebar.tsx";
import { useLines } from "./lines.ts";
import { type Column, fieldsOfRow, type Row, shownText } from "./row.ts";
import type { Source } from "./source.ts";

type RowListProps = {
  readonly source: Source;
  readonly types: readonly Column[];
  readonly all: readonly Row[];
  /** Fields that are shown instead of the summary. */
  readonly columns: readonly string[];
  /** The place of the row in the side panel; -1 without one. */
  readonly at: number;
  readonly onOpen: (row: Row | undefined) => void;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
};

/** A line for each row, or why there is none. The arrow keys go from line to line, and Tab to the row that is open. */
export function RowList({ source, types, all, columns, at, onOpen, error, isLoading }: RowListProps) {
  const lines = useLines(all.length);
  if (source.kind === "metric")
    return <EmptyState title="Metrics have no rows">Points of metrics are numbers: the chart shows them.</EmptyState>;
  if (isLoading) return <Skeleton lines={8} />;
  if (all.length === 0) {
    if (error?.code === "SERVICE_ASLEEP") return <p className="muted">Rows appear when the service runs.</p>;
    if (error?.status === 400) return <p className="muted">The filter has a mistake.</p>;
    if (error !== null) return <ErrorState error={error} />;
    return (
      <EmptyState title="No rows">
        No row of this time range matches. Choose a longer range or fewer conditions.
      </EmptyState>
    );
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const button = lines.onArrow(event);
    if (at !== -1) button?.click();
  };
  const stop = at === -1 ? lines.stop : at;
  return (
    <ul data-arrows onKeyDown={onKeyDown}>
      {all.map((row, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id.
        <li key={place} className={css.rowItem}>
          <button
            type="button"
            className={`plain ${css.rowButton}`}
            tabIndex={place === stop ? 0 : -1}
            aria-expanded={place === at}
            onFocus={() => lines.setReached(place)}
            onClick={() => onOpen(place === at ? undefined : row)}
          >
            <RowLine {...{ source, types, columns, row }} />
          </button>
        </li>
      ))}
    </ul>
  );
}

type RowLineProps = Pick<RowListProps, "source" | "types" | "columns"> & { readonly row: Row };

function RowLine({ source, types, columns, row }: RowLineProps) {
  const { time, severity, service, text } = rowSummary(source, types, row);
  if (columns.length > 0) {
    const fields = fieldsOfRow(types, row);
    return (
      <>
        <span className={css.rowTime}>{time}</span>
        {columns.map((name) => (
          <span key={name} className={`cut ${css.rowColumn}`}>
            {fields.find(({ field }) => field === name)?.shown.slice(0, longest)}
          </span>
        ))}
      </>
    );
  }
  return (
    <>
      <span className={css.rowTime}>{time}</span>
      {severity !== undefined && (
        <span className={css.severity} data-level={severity.toLowerCase().slice(0, 3)}>
          {severity}
        </span>
      )}
      {service !== undefined && <span className={`cut ${css.rowService}`}>{service}</span>}
      <span className={`cut ${css.rowText}`}>{text}</span>
    </>
  );
}

type RowSummary = {
  readonly time: string;
  readonly severity: string | undefined;
  readonly service: string | undefined;
  readonly text: string;
};

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
    body === undefined
      ? others.map(({ name, type }) => `${name}=${shownText(row[name], type)}`).join("  ")
      : cellText(row[body]);
  return {
    time: time === undefined ? "" : shownText(row[time], timeType ?? ""),
    severity: severity === undefined ? undefined : cellText(row[severity]),
    service: service === undefined ? undefined : cellText(row[service]),
    text: text.slice(0, longest),
  };
}

type RowDetailsProps = {
  readonly types: readonly Column[];
  readonly all: readonly Row[];
  /** The place of the row among all; -1 when it is gone. */
  readonly at: number;
  readonly row: Row;
  readonly onRow: (row: Row | undefined) => void;
  readonly onFilter: AddFilter;
  /** Fields that the list shows. */
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[]) => void;
};

const shownCharacters = 20_000;

/** All values of a row beside the list, which filters and columns can be made of. */
export function RowDetails({ types, all, at, row, onRow, onFilter, columns, onColumns }: RowDetailsProps) {
  const toggle = (field: string) =>
    onColumns(columns.includes(field) ? columns.filter((one) => one !== field) : [...columns, field]);
  const step = (label: string, icon: typeof X, to: number) => (
    <IconButton
      small
      label={label}
      icon={icon}
      refusal={at === -1 || all[to] === undefined ? "There is none." : undefined}
      onClick={() => onRow(all[to])}
    />
  );
  return (
    <aside className={css.details} aria-label="Row">
      <div className={`row ${css.detailsHead}`}>
        <h3>Row</h3>
        <CopyButton labelled text={JSON.stringify(row, undefined, 2)} label="Copy row as JSON" />
        <span className="grow" />
        {step("Newer row", ChevronUp, at - 1)}
        {step("Older row", ChevronDown, at + 1)}
        <IconButton small label="Close the row" icon={X} onClick={() => onRow(undefined)} />
      </div>
      <dl>
        {fieldsOfRow(types, row).map(({ field, text, shown }) => (
          <div key={field} className={css.detail}>
            <dt title={field}>{field}</dt>
            <dd>
              <span className={css.detailText} title={shown === text ? undefined : `${text} in the table`}>
                {shown.slice(0, shownCharacters)}
              </span>
              <span className={css.detailActions}>
                <IconButton
                  small
                  label={`Column ${field}`}
                  icon={Columns3}
                  aria-pressed={columns.includes(field)}
                  onClick={() => toggle(field)}
                />
                <IconButton
                  small
                  label={`Only this ${field}`}
                  icon={Plus}
                  onClick={() => onFilter(field, text, true)}
                />
                <IconButton
                  small
                  label={`Without this ${field}`}
                  icon={Minus}
                  onClick={() => onFilter(field, text, false)}
                />
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
