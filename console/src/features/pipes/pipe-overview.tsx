import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowRight, ChartLine, SquareTerminal } from "lucide-react";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { call } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { newChart } from "../../charts/definition.ts";
import { HistoryChart } from "../../charts/history-chart.tsx";
import type { Unit } from "../../charts/types.ts";
import { bytesText, shortCountText } from "../../lib/format.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { inLabels } from "../../lib/source-words.ts";
import { Button } from "../../parts/button.tsx";
import { Bytes, Count, Duration } from "../../parts/numbers.tsx";
import { Facts, Panel, Tile, Tiles } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { toastError } from "../../parts/toast.tsx";
import { KindLabel } from "./kind-icon.tsx";
import { LagText, lagDetails } from "./lag-text.tsx";
import type { PipeSummary } from "./list-search.ts";
import { tableOf } from "./pipe-columns.tsx";
import { PipeProgress } from "./pipe-progress.tsx";
import { PipeTables } from "./pipe-tables.tsx";
import css from "./pipes.module.css";
import { SendPanel } from "./send-panel.tsx";
import { kindOf, type PipeDetails, sourceText, usePipe, usePipeParams, usePipeSummary } from "./use-pipe.ts";

const ranges = [
  { value: "1", label: "Last hour" },
  { value: "6", label: "Last 6 hours" },
  { value: "24", label: "Last 24 hours" },
  { value: "168", label: "Last 7 days" },
] as const;

/** Is it healthy, how far behind, and when is it done? */
export function PipeOverview() {
  return <Answer query={usePipe()}>{(pipe) => <Overview pipe={pipe} />}</Answer>;
}

function Overview({ pipe }: { readonly pipe: PipeDetails }) {
  const summary = usePipeSummary(pipe);
  const { hours = 1 } = useSearch({ from: "/pipes/$serviceId/$pipeId/" });
  const navigate = useNavigate({ from: "/pipes/$serviceId/$pipeId/" });
  const range = (
    <InlineSelect
      label="Range of the charts"
      value={String(hours) as "1"}
      options={ranges}
      onChange={(next) => void navigate({ search: next === "1" ? {} : { hours: Number(next) }, replace: true })}
    />
  );
  return (
    <>
      <SourceStrip pipe={pipe} summary={summary} />
      {sourceDescriptions[kindOf(pipe)].hasInbox && <SendPanel pipe={pipe} />}
      {pipe.state === "Completed" ? (
        <Result pipe={pipe} summary={summary} />
      ) : (
        <Numbers pipe={pipe} summary={summary} />
      )}
      <Conditions summary={summary} />
      {pipe.tables !== undefined && <PipeTables tables={pipe.tables} progress={pipe.progress} />}
      <Panel title="Over time" actions={range}>
        <PipeCharts hours={hours} isEnded={pipe.state === "Completed"} />
      </Panel>
      <PipeProgress progress={pipe.progress} kind={kindOf(pipe)} />
    </>
  );
}

type NumbersProps = { readonly pipe: PipeDetails; readonly summary: PipeSummary | undefined };

function Numbers({ pipe, summary }: NumbersProps) {
  const { rates, lag, errors, rows, bytes } = summary ?? {};
  return (
    <Tiles>
      <Tile
        label="Rows per second"
        note={rates === undefined ? "no worker runs" : `${bytesText(rates.bytesPerSecond ?? 0)}/s`}
      >
        <Count value={rates?.rowsPerSecond} />
      </Tile>
      <Tile label="Behind the source" note={lag === undefined ? "not known" : lagDetails(lag)}>
        <LagText lag={lag} />
      </Tile>
      <Tile label={refusedLabel(pipe)} note="since the pipe was created">
        <Count value={errors} />
      </Tile>
      <Tile label="Rows written" note={<Bytes value={bytes} none="" />}>
        <Count value={rows} />
      </Tile>
    </Tiles>
  );
}

function refusedLabel({ progress }: PipeDetails): string {
  return progress.filesLoaded === undefined ? "Refused rows" : "Refused rows and objects";
}

/** What a pipe that has ended has done. */
function Result({ pipe, summary }: NumbersProps) {
  const { filesLoaded, filesFailed } = pipe.progress;
  const end = Date.parse(summary?.stateChangedAt ?? summary?.lastSuccessAt ?? "");
  const seconds = Math.max(0.001, (end - Date.parse(pipe.createdAt)) / 1000);
  const rows = summary?.rows;
  return (
    <Tiles>
      <Tile label="Rows loaded" note={<Bytes value={summary?.bytes} none="" />}>
        <Count value={rows} exact />
      </Tile>
      {filesLoaded !== undefined && (
        <Tile label="Objects loaded" note={filesFailed ? `${filesFailed} failed` : "none failed"}>
          <Count value={filesLoaded} exact />
        </Tile>
      )}
      <Tile label="Duration" note="from its creation to its end">
        <Duration value={Number.isNaN(end) ? undefined : seconds} />
      </Tile>
      <Tile label="Rows per second" note="on average">
        <Count value={rows === undefined || Number.isNaN(end) ? undefined : rows / seconds} />
      </Tile>
      <Tile label={refusedLabel(pipe)} note="since the pipe was created">
        <Count value={summary?.errors} />
      </Tile>
    </Tiles>
  );
}

/** Two facts, neither of which follows from the other. The state and its reason are above the tabs. */
function Conditions({ summary }: { readonly summary: PipeSummary | undefined }) {
  const { lastSuccessAt, lastError, stateMessage } = summary ?? {};
  return (
    <Panel>
      <Facts
        facts={[
          ["Last success", <RelativeTime key="success" at={lastSuccessAt} none="no row is loaded yet" />],
          [
            "Last error",
            lastError === undefined ? (
              "none"
            ) : (
              <span key="error">
                <RelativeTime at={lastError.at} />
                {lastError.message !== stateMessage && (
                  <span className="toned" data-tone="bad">{`: ${inLabels(lastError.message)}`}</span>
                )}
              </span>
            ),
          ],
        ]}
      />
    </Panel>
  );
}

type SourceStripProps = { readonly pipe: PipeDetails; readonly summary: PipeSummary | undefined };

/** From where to where, and how much. */
function SourceStrip({ pipe, summary }: SourceStripProps) {
  const { database, table } = pipe.destination;
  const destination = { ...(database ? { database } : {}), ...(table ? { table } : {}) };
  const { rowsPerSecond = 0, bytesPerSecond = 0 } = summary?.rates ?? {};
  return (
    <Panel>
      <div className={css.strip}>
        <div className={css.end}>
          <KindLabel kind={kindOf(pipe)} />
          <span className={css.endName}>{sourceText(pipe)}</span>
        </div>
        <div className={css.flow}>
          <ArrowRight aria-hidden />
          {summary?.rates !== undefined && (
            <span>
              {shortCountText(rowsPerSecond)} rows/s · {bytesText(bytesPerSecond)}/s
            </span>
          )}
        </div>
        <div className={css.end}>
          <span className="muted">Table</span>
          <Link to="/sql" search={{ service: pipe.serviceId }} className={css.endName}>
            {tableOf(destination)}
          </Link>
          <span className="row">
            <LoadedLinks pipe={pipe} />
          </span>
        </div>
      </div>
    </Panel>
  );
}

/** From a pipe to the rows that it has loaded. */
function LoadedLinks({ pipe: { serviceId, destination } }: { readonly pipe: PipeDetails }) {
  const navigate = useNavigate();
  const sources = useOperation("listSources", { params: {} }, { pace: "slow" });
  const { database = "default", table } = destination;
  if (!table) return null;
  const isOfTable = (from: unknown) => {
    const { databaseName, tableName } = (from ?? {}) as { databaseName?: string; tableName?: string };
    return databaseName === database && tableName === table;
  };
  const query = `SELECT *\nFROM ${quotedName(database ?? "default")}.${quotedName(table)}\nLIMIT 100`;
  const explore = async () => {
    const known = sources.data?.data.find((source) => source.serviceId === serviceId && isOfTable(source.from));
    const id = known?.id ?? (await newSource());
    if (id !== undefined) void navigate({ to: "/explore", search: { chart: newChart(id) } as never });
    else void navigate({ to: "/explore", search: {} as never });
  };
  /** A source as the server suggests it for the table; undefined where it has no column of times. */
  const newSource = async () => {
    const { data } = await call("suggestSources", { params: {}, query: { serviceId, wake: "auto" } });
    const body = data.find(({ from }) => isOfTable(from));
    if (body === undefined) return undefined;
    const { data: made } = await call("createSource", { params: {}, body });
    await refetch("listSources");
    return made.id;
  };
  return (
    <>
      <Button
        small
        icon={SquareTerminal}
        onClick={() => void navigate({ to: "/sql", search: { service: serviceId, q: query } })}
      >
        Open in SQL
      </Button>
      <Button small icon={ChartLine} onClick={() => void explore().catch(toastError)}>
        Explore
      </Button>
    </>
  );
}

type Metrics = import("../../api/client.ts").OperationResult<"getPipeMetrics">;
type MetricName = keyof Metrics["series"];

type ChartOfPipe = { readonly name: string; readonly metric: MetricName; readonly unit: Unit };

const charts: readonly ChartOfPipe[] = [
  { name: "Rows per second", metric: "rowsPerSecond", unit: "perSecond" },
  { name: "Bytes per second", metric: "bytesPerSecond", unit: "bytesPerSecond" },
  { name: "Lag", metric: "lagSeconds", unit: "seconds" },
  { name: "Age of the newest data when it was loaded", metric: "latencySeconds", unit: "seconds" },
  { name: "Refused per second", metric: "errorsPerSecond", unit: "perSecond" },
];

/** Rates, lag and errors over the last hours; gaps are times of which nothing is known. */
function PipeCharts({ hours, isEnded }: { readonly hours: number; readonly isEnded: boolean }) {
  const params = usePipeParams();
  // One step of 5 s is the finest; the range moves with it, so that equal questions are one.
  const step = hours === 1 ? 10 : hours * 60;
  const metrics = useOperation("getPipeMetrics", { params, query: rangeOf(hours, step) as never }, { keep: true });
  return (
    <Answer query={metrics} loading={<Skeleton lines={8} />}>
      {(answer) =>
        charts.every(({ metric }) => !isKnown(answer, metric, isEnded)) ? (
          <EmptyState title="Nothing was measured in this range">
            A longer range may have some numbers. A pipe that ended within seconds has none.
          </EmptyState>
        ) : (
          <div className="cells">
            {charts
              .filter(({ metric }) => isKnown(answer, metric, isEnded))
              .map(({ metric, ...chart }) => (
                <HistoryChart
                  key={metric}
                  history={answer}
                  lines={[{ name: chart.name, values: answer.series[metric] }]}
                  {...chart}
                  height={160}
                  syncKey="pipe"
                  hideLegend
                />
              ))}
          </div>
        )
      }
    </Answer>
  );
}

/** The default range ends now; longer ones are asked for by their begin. */
function rangeOf(hours: number, step: number): { from?: string; step: number } {
  if (hours === 1) return { step };
  const stepMs = step * 1000;
  const from = Math.floor((serverNow() - hours * 3_600_000) / stepMs) * stepMs;
  return { from: new Date(from).toISOString(), step };
}

/** The zeros of a pipe that has ended tell nothing. */
function isKnown({ series }: Metrics, metric: MetricName, isEnded: boolean): boolean {
  return series[metric].some((value) => value !== null && !(isEnded && value === 0));
}
