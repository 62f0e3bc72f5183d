import { useQuery } from "@tanstack/react-query";
import { Radio, RefreshCw } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { call } from "../../api/client.ts";
import { serverNow } from "../../api/server-time.ts";
import { type ChartDefinition, chartDisplays, granularities, splitList } from "../../charts/definition.ts";
import { withFilter } from "../../charts/filter-text.ts";
import { RangePicker } from "../../charts/range-picker.tsx";
import { type Bounds, boundsOf, defaultRange, endText, rangeText, type TimeRange } from "../../charts/time-range.ts";
import { useChart } from "../../charts/use-chart.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { fieldsOf } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { InlineSelect, named } from "../../parts/select.tsx";
import { toastError } from "../../parts/toast.tsx";
import { ChartMenu, ChartPanel } from "./chart-panel.tsx";
import { isEmpty, rangeOfData } from "./data-range.ts";
import css from "./explore.module.css";
import { FieldSidebar } from "./field-sidebar.tsx";
import { RowsPanel } from "./rows-panel.tsx";
import type { ExploreSearch } from "./search.ts";
import { SeriesEditor } from "./series-editor.tsx";
import type { Source } from "./source.ts";
import { SourcesDialog } from "./sources-dialog.tsx";

type ExplorerProps = {
  readonly sources: readonly Source[];
  readonly source: Source;
  readonly search: ExploreSearch;
  readonly onChange: (change: Partial<ExploreSearch>, replace?: boolean) => void;
};

export function Explorer({ sources, source, search, onChange }: ExplorerProps) {
  const [now, setNow] = useState(serverNow);
  const [draft, setDraft] = useDraft(search.chart, (chart) => onChange({ chart }, true));
  const [isLive, setLive] = useState(false);
  const { from, to, rowsFrom, rowsTo } = search;
  useTimer(isLive && to.trim() === "now", () => setNow(serverNow()));
  const bounds = useMemo<Bounds | undefined>(() => boundsOf({ from, to }, now), [from, to, now]);
  const chart = useChart(search.chart, bounds);
  const fields = useFields(source.id, bounds);
  const change = (part: Partial<ChartDefinition>) => setDraft({ ...draft, ...part });
  const addFilter = (field: string, value: string, isWanted: boolean) =>
    change({ series: draft.series.map((one) => ({ ...one, where: withFilter(one, field, value, isWanted) })) });
  // The range with which the page opens was chosen by nobody, as one in which rows were found.
  const hasChosen = useRef(rangeText({ from, to }) !== rangeText(defaultRange));
  const setRange = (range: TimeRange, isChosen = true) => {
    hasChosen.current = isChosen;
    setNow(serverNow());
    onChange({ ...range, rowsFrom: undefined as never, rowsTo: undefined as never });
  };
  const rows = rowsFrom === undefined || rowsTo === undefined ? bounds : { from: rowsFrom, to: rowsTo };
  return (
    <div className={css.page}>
      <Head
        {...{ sources, source, search, bounds }}
        isLive={isLive}
        onSource={(id) =>
          onChange({ chart: { ...draft, sourceId: id }, columns: [], ...(hasChosen.current ? {} : defaultRange) })
        }
        onRange={setRange}
        onLive={setLive}
        onAgain={() => setNow(serverNow())}
      />
      <SeriesEditor chart={draft} fields={fields.data?.data ?? []} error={chart.error} onChange={change} />
      <Look chart={draft} onChange={change} />
      {chart.data !== undefined && !chart.isPlaceholderData && isEmpty(chart.data) && (
        <GoToData
          key={source.id}
          sourceId={source.id}
          isAsked={!hasChosen.current}
          onFound={({ from: start, to: end }) => setRange({ from: endText(start), to: endText(end) }, false)}
        />
      )}
      <ChartPanel
        chart={search.chart}
        query={chart}
        bounds={bounds}
        onRange={(start, end) => setRange({ from: endText(start), to: endText(end) })}
        onBucket={(start, end) => onChange({ rowsFrom: start, rowsTo: end })}
      />
      {rows !== undefined && (
        <div className={css.below}>
          <FieldSidebar
            source={source}
            fields={fields}
            bounds={bounds}
            filter={search.chart.series[0]}
            onFilter={addFilter}
          />
          <RowsPanel
            key={source.id}
            source={source}
            bounds={rows}
            isPart={rowsFrom !== undefined}
            filter={search.chart.series[0]}
            onWhole={() => onChange({ rowsFrom: undefined as never, rowsTo: undefined as never })}
            onFilter={addFilter}
            columns={search.columns ?? []}
            onColumns={(columns) => onChange({ columns }, true)}
          />
        </div>
      )}
    </div>
  );
}

type HeadProps = Pick<ExplorerProps, "sources" | "source" | "search"> & {
  readonly bounds: Bounds | undefined;
  readonly isLive: boolean;
  readonly onSource: (id: string) => void;
  readonly onRange: (range: TimeRange) => void;
  readonly onLive: (isLive: boolean) => void;
  readonly onAgain: () => void;
};

/** Tells the source and the time, and what can be done with them. */
function Head({ sources, source, search, bounds, isLive, onSource, onRange, onLive, onAgain }: HeadProps) {
  const [isEditing, setEditing] = useState(false);
  const { from, to } = search;
  return (
    <header className="row">
      <h1>Explore</h1>
      <InlineSelect label="Source" value={source.id} options={named(sources)} onChange={onSource} />
      <a className="skip" href="#rows">
        Skip to the rows
      </a>
      <Button small onClick={() => setEditing(true)}>
        Sources …
      </Button>
      <span className="grow" />
      <Button
        small
        aria-pressed={isLive}
        icon={Radio}
        refusal={to.trim() === "now" ? undefined : "Only a range that ends now can be followed."}
        onClick={() => onLive(!isLive)}
      >
        Live
      </Button>
      <RangePicker range={{ from, to }} onChange={onRange} />
      <IconButton small label="Ask again" icon={RefreshCw} onClick={onAgain} />
      <ChartMenu chart={search.chart} bounds={bounds} range={{ from, to }} />
      {isEditing && <SourcesDialog sources={sources} onClose={() => setEditing(false)} />}
    </header>
  );
}

const liveMs = 2_000;

function useTimer(isOn: boolean, tick: () => void): void {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), liveMs);
    return () => clearInterval(timer);
  }, [isOn]);
}

type GoToDataProps = {
  readonly sourceId: string;
  /** The range was chosen by nobody: it becomes that of the rows without a question. */
  readonly isAsked: boolean;
  readonly onFound: (bounds: Bounds) => void;
};

/** In a range without rows: the way to those that there are. */
function GoToData({ sourceId, isAsked, onFound }: GoToDataProps) {
  const [state, setState] = useState<"idle" | "busy" | "none">("idle");
  const go = async () => {
    setState("busy");
    try {
      const bounds = await rangeOfData(sourceId, serverNow());
      setState(bounds === undefined ? "none" : "idle");
      if (bounds !== undefined) onFound(bounds);
    } catch (error) {
      setState("idle");
      toastError(error);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens.
  useEffect(() => void (isAsked && go()), []);
  return (
    <Note>
      {state === "none" ? "The source has no rows yet. " : "No row of this range matches. "}
      <Button small busy={state === "busy"} onClick={() => void go()}>
        Go to the data
      </Button>
    </Note>
  );
}

const pauseMs = 400;

/** What is typed, and what the address has: the latter follows after a pause. Back and links win over what is typed. */
function useDraft(kept: ChartDefinition, keep: (chart: ChartDefinition) => void) {
  const [draft, setDraft] = useState(kept);
  const written = useRef(JSON.stringify(kept));
  const text = JSON.stringify(kept);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another address counts.
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    setDraft(kept);
  }, [text]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed counts.
  useEffect(() => {
    const json = JSON.stringify(draft);
    if (json === written.current) return;
    const timer = setTimeout(() => {
      written.current = json;
      keep(draft);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [draft]);
  return [draft, setDraft] as const;
}

type LookProps = { readonly chart: ChartDefinition; readonly onChange: (change: Partial<ChartDefinition>) => void };

const displayNames = { line: "Lines", bar: "Bars", stacked: "Stacked", table: "Table", number: "Number" } as const;

function Look({ chart, onChange }: LookProps) {
  const field = fieldsOf({ form: chart, onChange });
  return (
    <div className="row">
      <InlineSelect
        label="Display"
        {...field("display")}
        options={chartDisplays.map((value) => ({ value, label: displayNames[value] }))}
      />
      {chart.display !== "table" && chart.display !== "number" && (
        <InlineSelect
          label="Granularity"
          {...field("granularity")}
          options={granularities.map((value) => ({
            value,
            label: value === "auto" ? "Automatic buckets" : `Buckets of ${value}`,
          }))}
        />
      )}
      {splitList(chart.groupBy).length > 0 && (
        <InlineSelect
          label="Most groups"
          value={String(chart.limit)}
          options={[...new Set([3, 5, 8, 12, 20, 50, chart.limit])].map((value) => ({
            value: String(value),
            label: `${value} groups`,
          }))}
          onChange={(limit) => onChange({ limit: Number(limit) })}
        />
      )}
    </div>
  );
}

/** Fields of a source in a range. Another range is asked for when the sidebar is, not before. */
function useFields(id: string, bounds: Bounds | undefined) {
  return useQuery({
    queryKey: ["listFields", id, bounds === undefined],
    queryFn: ({ signal }) =>
      call(
        "listFields",
        { params: { id }, query: { startTime: bounds?.from, endTime: bounds?.to, wake: "never" } },
        signal,
      ),
    enabled: bounds !== undefined,
    staleTime: 300_000,
    refetchOnWindowFocus: false,
  });
}
