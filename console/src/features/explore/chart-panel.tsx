import type { UseQueryResult } from "@tanstack/react-query";
import { Sunrise } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { queryClient } from "../../api/queries.ts";
import { ChartView } from "../../charts/chart-view.tsx";
import { type ChartDefinition, missingIn, requestOf, seriesNames } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import type { ChartAnswer } from "../../charts/use-chart.ts";
import { bytesText, countText, durationText } from "../../lib/format.ts";
import { zoneStore } from "../../lib/zone.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import { toastError } from "../../parts/toast.tsx";
import css from "./explore.module.css";

type ChartPanelProps = {
  readonly chart: ChartDefinition;
  readonly query: UseQueryResult<ChartAnswer, ApiError>;
  readonly bounds: Bounds | undefined;
  readonly onRange: (fromMs: number, toMs: number) => void;
  readonly onTime: (timeMs: number) => void;
};

/** The chart, or why there is none, and what its answer cost. */
export function ChartPanel({ chart, query, bounds, onRange, onTime }: ChartPanelProps) {
  return (
    <section className={css.chart} aria-label="Chart">
      <Content {...{ chart, query, bounds, onRange, onTime }} />
      {query.data !== undefined && bounds !== undefined && (
        <Facts {...{ chart, query, bounds }} meta={query.data.meta} />
      )}
    </section>
  );
}

function Content({ chart, query, bounds, onRange, onTime }: ChartPanelProps) {
  const { data, error } = query;
  if (bounds === undefined) return <EmptyState title="This is no range of time">Choose another one above.</EmptyState>;
  const missing = missingIn(chart);
  if (missing !== undefined) return <EmptyState title="Not complete yet">{missing}</EmptyState>;
  if (error?.code === "SERVICE_ASLEEP") return <Asleep chart={chart} bounds={bounds} />;
  if (error?.issues.every(({ path }) => !/^(series\.\d+\.(where|field|groupBy)|formula)/.test(path))) {
    return <ErrorState error={error} onRetry={() => void query.refetch()} />;
  }
  if (data === undefined)
    return error === null ? (
      <Skeleton lines={7} />
    ) : (
      <EmptyState title="The request has a mistake">{error.message}</EmptyState>
    );
  return (
    <div className={error !== null || query.isPlaceholderData ? css.old : undefined}>
      <ChartView
        name={seriesNames(chart.series).join(", ")}
        definition={chart}
        answer={data}
        {...{ bounds, onRange, onTime }}
      />
    </div>
  );
}

function Asleep({ chart, bounds }: { readonly chart: ChartDefinition; readonly bounds: Bounds }) {
  return (
    <EmptyState title="The service sleeps" actions={<WakeButton chart={chart} bounds={bounds} />}>
      Charts never wake a service by themselves. Waking takes about 0.2 s.
    </EmptyState>
  );
}

type WakeProps = { readonly chart: ChartDefinition; readonly bounds: Bounds };

function WakeButton({ chart, bounds }: WakeProps) {
  const [busy, setBusy] = useState(false);
  const wake = async () => {
    setBusy(true);
    try {
      await call("queryChart", { params: {}, body: requestOf(chart, bounds, zoneStore.get(), "auto") });
      const reads = ["queryChart", "searchRows", "listFields", "listFieldValues", "listServices"];
      await queryClient.invalidateQueries({ predicate: ({ queryKey }) => reads.includes(queryKey[0] as string) });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Button small icon={<Sunrise aria-hidden />} busy={busy} onClick={() => void wake()}>
      Wake and ask
    </Button>
  );
}

type FactsProps = WakeProps & {
  readonly meta: ChartAnswer["meta"];
  readonly query: UseQueryResult<ChartAnswer, ApiError>;
};

const cacheWords = { hit: "from the cache", miss: "asked the engine", stale: "from before it fell asleep" } as const;

/** How long the answer took, what was read for it, and how old it is. */
function Facts({ chart, bounds, meta, query }: FactsProps) {
  const isStale = meta.cache === "stale";
  return (
    <div className={css.facts}>
      <Badge tone={isStale ? "warn" : "neutral"}>{cacheWords[meta.cache]}</Badge>
      <span>{durationText(meta.elapsedMs / 1000)}</span>
      {meta.rowsRead !== null && <span>{countText(meta.rowsRead)} rows read</span>}
      {meta.bytesRead !== null && meta.bytesRead > 0 && <span>{bytesText(meta.bytesRead)}</span>}
      {meta.rollups.length > 0 && <span>rollup {meta.rollups.join(", ")}</span>}
      <span>
        as of <RelativeTime at={meta.asOf} />
      </span>
      {query.data?.truncated === true && <span>more groups exist</span>}
      {isStale && <WakeButton chart={chart} bounds={bounds} />}
      {meta.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
    </div>
  );
}
