import type { UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Bell, Ellipsis, Save } from "lucide-react";
import { useState } from "react";
import { describeCall } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { ChartAway } from "../../charts/chart-away.tsx";
import { ChartView } from "../../charts/chart-view.tsx";
import { type ChartDefinition, missingIn, requestOf, seriesNames } from "../../charts/definition.ts";
import { SaveChartDialog } from "../../charts/save-chart-dialog.tsx";
import type { Bounds, TimeRange } from "../../charts/time-range.ts";
import { type ChartAnswer, useKeptAnswer } from "../../charts/use-chart.ts";
import { chartRefusal } from "../../charts/watchable.ts";
import { newAlertAddress } from "../../lib/addresses.ts";
import { bytesText, counted, durationText } from "../../lib/format.ts";
import { zoneStore } from "../../lib/zone.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { copyText } from "../../parts/copy-button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Note } from "../../parts/note.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { EmptyState, ErrorState, Skeleton } from "../../parts/states.tsx";
import { toast } from "../../parts/toast.tsx";
import css from "./explore.module.css";

type ChartPanelProps = {
  readonly chart: ChartDefinition;
  readonly query: UseQueryResult<ChartAnswer, ApiError>;
  readonly bounds: Bounds | undefined;
  readonly onRange: (fromMs: number, toMs: number) => void;
  readonly onBucket: (fromMs: number, toMs: number) => void;
};

/** The chart, or why there is none, and what its answer cost. */
export function ChartPanel({ chart, query, bounds, onRange, onBucket }: ChartPanelProps) {
  return (
    <section className={`group surface ${css.chart}`} aria-label="Chart">
      <Content {...{ chart, query, bounds, onRange, onBucket }} />
      {query.data !== undefined && bounds !== undefined && (
        <Facts {...{ chart, query, bounds }} meta={query.data.meta} />
      )}
    </section>
  );
}

function Content({ chart, query, bounds, onRange, onBucket }: ChartPanelProps) {
  const { error } = query;
  const shown = useKeptAnswer(chart, query, bounds);
  if (bounds === undefined)
    return <EmptyState title="This is not a range of time">Choose another one above.</EmptyState>;
  const missing = missingIn(chart);
  if (missing !== undefined) return <EmptyState title="Not complete yet">{missing}</EmptyState>;
  if (error?.code === "SERVICE_ASLEEP" && shown === undefined) return <ChartAway chart={chart} bounds={bounds} />;
  if (
    shown?.isKept !== true &&
    error?.issues.every(({ path }) => !/^(series\.\d+\.(where|field|groupBy)|formula)/.test(path))
  ) {
    return <ErrorState error={error} onRetry={() => void query.refetch()} />;
  }
  if (shown === undefined)
    return error === null ? (
      <Skeleton lines={7} />
    ) : (
      <EmptyState title="The request has a mistake">It is told at its field above.</EmptyState>
    );
  return (
    <div className={error !== null || query.isPlaceholderData ? css.old : undefined}>
      <ChartView
        name={seriesNames(chart.series).join(", ")}
        definition={chart}
        answer={shown.answer}
        bounds={shown.bounds}
        {...{ onRange, onBucket }}
      />
      {shown.isKept && <ChartAway chart={chart} bounds={bounds} keptAt={shown.answer.meta.asOf} />}
    </div>
  );
}

type FactsProps = {
  readonly chart: ChartDefinition;
  readonly bounds: Bounds;
  readonly meta: ChartAnswer["meta"];
  readonly query: UseQueryResult<ChartAnswer, ApiError>;
};

const cacheWords = { hit: "from the cache", miss: "asked the engine", stale: "from before it fell asleep" } as const;

/** How long the answer took, what was read for it, and how old it is. */
function Facts({ chart, bounds, meta, query }: FactsProps) {
  const isStale = meta.cache === "stale";
  return (
    <div className="row muted numeric">
      <Badge tone={isStale ? "warn" : "neutral"}>{cacheWords[meta.cache]}</Badge>
      <span>{durationText(meta.elapsedMs / 1000)}</span>
      {meta.rowsRead !== null && <span>{counted(meta.rowsRead, "row")} read</span>}
      {meta.bytesRead !== null && meta.bytesRead > 0 && <span>{bytesText(meta.bytesRead)}</span>}
      {meta.rollups.length > 0 && <span>rollup {meta.rollups.join(", ")}</span>}
      <span>
        as of <RelativeTime at={meta.asOf} />
      </span>
      {query.data?.truncated === true && <span>more groups exist</span>}
      {isStale && <ChartAway chart={chart} bounds={bounds} />}
      {meta.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
    </div>
  );
}

type ChartMenuProps = {
  readonly chart: ChartDefinition;
  readonly bounds: Bounds | undefined;
  readonly range: TimeRange;
};

/** What can be done with the chart: keep it, or ask the same elsewhere. */
export function ChartMenu({ chart, bounds, range }: ChartMenuProps) {
  const [isSaving, setSaving] = useState(false);
  const navigate = useNavigate();
  const copy = async (text: string, what: string) => {
    if (await copyText(text)) toast(`${what} is copied.`);
    else toast("The browser refuses to copy.", "warn");
  };
  const request = bounds === undefined ? undefined : requestOf(chart, bounds, zoneStore.get(), "auto");
  return (
    <>
      <Button small needs="developer" icon={Save} refusal={missingIn(chart)} onClick={() => setSaving(true)}>
        Save
      </Button>
      <Menu trigger={<IconButton small label="More" icon={Ellipsis} />}>
        <MenuItem
          needs="developer"
          refusal={chartRefusal(chart)}
          icon={Bell}
          onSelect={() => void navigate(newAlertAddress(undefined, chart))}
        >
          Create alert
        </MenuItem>
        <MenuSeparator />
        <MenuItem onSelect={() => void copy(location.href, "The link")}>Copy link</MenuItem>
        <MenuItem onSelect={() => void copy(JSON.stringify(request, undefined, 2), "The request")}>
          Copy request as JSON
        </MenuItem>
        <MenuItem onSelect={() => void copy(curlOf(request), "The command")}>Copy as curl</MenuItem>
      </Menu>
      {isSaving && (
        <SaveChartDialog
          content={{ kind: "chart", chart }}
          title={seriesNames(chart.series).join(", ")}
          range={range}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}

function curlOf(request: ReturnType<typeof requestOf> | undefined): string {
  const { method, path, body } = describeCall("queryChart", {
    params: {},
    body: request as NonNullable<typeof request>,
  });
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s -X ${method} ${location.origin}${path} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${json}'`;
}
