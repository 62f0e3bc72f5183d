import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { ChevronRight, Minus, Plus } from "lucide-react";
import { useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import type { SeriesDefinition } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import { shortCountText } from "../../lib/format.ts";
import { zoneStore } from "../../lib/zone.ts";
import { IconButton } from "../../parts/button.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { Skeleton } from "../../parts/states.tsx";
import css from "./explore.module.css";
import { useLines } from "./lines.ts";
import type { Source } from "./source.ts";

type Fields = OperationResult<"listFields">;
export type AddFilter = (field: string, value: string, isWanted: boolean) => void;

type FieldSidebarProps = {
  readonly source: Source;
  readonly fields: UseQueryResult<Fields, Error>;
  readonly bounds: Bounds | undefined;
  readonly filter: SeriesDefinition | undefined;
  readonly onFilter: AddFilter;
};

const shownFields = 60;

/** Fields of the source, each with its most frequent values; a click filters by one. */
export function FieldSidebar({ source, fields, bounds, filter, onFilter }: FieldSidebarProps) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found = (fields.data?.data ?? []).filter(({ name }) => name.toLowerCase().includes(wanted));
  const shown = found.slice(0, shownFields);
  const lines = useLines(shown.length);
  return (
    <aside className={`group surface ${css.sidebar}`} aria-label="Fields">
      <h2>Fields</h2>
      <SearchInput label="Find a field" placeholder="Find" value={text} onChange={setText} />
      {fields.isPending && <Skeleton lines={6} />}
      {fields.isError && (
        <p className="muted">
          {asApiError(fields.error).code === "SERVICE_ASLEEP"
            ? "Fields are listed while the service runs."
            : fields.error.message}
        </p>
      )}
      <ul data-arrows onKeyDown={lines.onArrow}>
        {shown.map((field, place) => (
          <FieldNode
            key={field.name}
            {...{ source, field, bounds, filter, onFilter }}
            isStop={place === lines.stop}
            onFocus={() => lines.setReached(place)}
          />
        ))}
      </ul>
      {found.length > shownFields && <p className="muted">{found.length - shownFields} more: type to find them.</p>}
    </aside>
  );
}

type FieldNodeProps = Omit<FieldSidebarProps, "fields"> & {
  readonly field: Fields["data"][number];
  readonly isStop: boolean;
  readonly onFocus: () => void;
};

function FieldNode({ source, field, bounds, filter, onFilter, isStop, onFocus }: FieldNodeProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        className={`plain ${css.fieldName}`}
        tabIndex={isStop ? 0 : -1}
        aria-expanded={isOpen}
        onFocus={onFocus}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight size={14} aria-hidden className={css.chevron} />
        <span className="cut" title={field.name}>
          {field.name}
        </span>
        <span className={`muted cut ${css.fieldType}`} title={field.type}>
          {field.type}
        </span>
      </button>
      {isOpen && <TopValues {...{ source, field: field.name, bounds, filter, onFilter }} />}
    </li>
  );
}

type TopValuesProps = Omit<FieldSidebarProps, "fields"> & { readonly field: string };

function TopValues({ source, field, bounds, filter, onFilter }: TopValuesProps) {
  const where = filter?.where ?? "";
  const whereLanguage = filter?.whereLanguage ?? "lucene";
  const range = { startTime: bounds?.from, endTime: bounds?.to };
  const { data, error } = useQuery({
    queryKey: ["listFieldValues", source.id, field, where, whereLanguage, range],
    queryFn: ({ signal }) =>
      call(
        "listFieldValues",
        {
          params: { id: source.id },
          query: { ...range, field, where, whereLanguage, timezone: zoneStore.get(), limit: 8, wake: "never" },
        },
        signal,
      ),
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
  if (error !== null) return <p className="muted">{error.message}</p>;
  if (data === undefined) return <p className="muted">Counting …</p>;
  if (data.data.length === 0) return <p className="muted">No values in this range.</p>;
  const most = data.data[0]?.count ?? 1;
  return (
    <ul className={css.values}>
      {data.data.map(({ value, count }) => (
        <li key={value} className={css.value}>
          <span className={css.valueBar} style={{ width: `${(100 * count) / most}%` }} />
          <span className={`cut ${css.valueText}`} title={value}>
            {value}
          </span>
          <span className={css.valueCount}>{shortCountText(count)}</span>
          <span className={css.valueActions}>
            <IconButton
              small
              label={`Only ${field} ${value.slice(0, 60)}`}
              icon={Plus}
              onClick={() => onFilter(field, value, true)}
            />
            <IconButton
              small
              label={`Without ${field} ${value.slice(0, 60)}`}
              icon={Minus}
              onClick={() => onFilter(field, value, false)}
            />
          </span>
        </li>
      ))}
      {!data.meta.complete && <li className="muted">Counted in the first million rows.</li>}
    </ul>
  );
}
