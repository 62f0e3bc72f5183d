import { useNavigate, useSearch } from "@tanstack/react-router";
import { sourceDescriptions } from "../../../../src/sources/descriptions.ts";
import { bytesText } from "../../lib/format.ts";
import { Bytes, Count, Duration } from "../../parts/numbers.tsx";
import { Facts, Panel, Tile, Tiles } from "../../parts/page.tsx";
import { Elapsed, RelativeTime } from "../../parts/relative-time.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer } from "../../parts/states.tsx";
import { LagText, lagDetails } from "./lag-text.tsx";
import type { PipeSummary } from "./list-search.ts";
import { PipeCharts } from "./pipe-charts.tsx";
import { PipeProgress } from "./pipe-progress.tsx";
import { PipeTables } from "./pipe-tables.tsx";
import { SendPanel } from "./send-panel.tsx";
import { SourceStrip } from "./source-strip.tsx";
import { kindOf, type PipeDetails, usePipe, usePipeSummary } from "./use-pipe.ts";

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
      {"hasInbox" in sourceDescriptions[kindOf(pipe)] && <SendPanel pipe={pipe} />}
      {pipe.state === "Completed" ? <Result pipe={pipe} summary={summary} /> : <Numbers summary={summary} />}
      <Conditions summary={summary} />
      {pipe.tables !== undefined && <PipeTables tables={pipe.tables} />}
      <Panel title="Over time" actions={range}>
        <PipeCharts hours={hours} isEnded={pipe.state === "Completed"} />
      </Panel>
      <PipeProgress progress={pipe.progress} kind={kindOf(pipe)} />
    </>
  );
}

function Numbers({ summary }: { readonly summary: PipeSummary | undefined }) {
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
      <Tile label="Refused rows and objects" note="since the pipe was created">
        <Count value={errors} />
      </Tile>
      <Tile label="Rows written" note={<Bytes value={bytes} none="" />}>
        <Count value={rows} />
      </Tile>
    </Tiles>
  );
}

/** What a pipe that has ended has done. */
function Result({ pipe, summary }: { readonly pipe: PipeDetails; readonly summary: PipeSummary | undefined }) {
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
      <Tile label="Refused rows and objects" note="since the pipe was created">
        <Count value={summary?.errors} />
      </Tile>
    </Tiles>
  );
}

/** Three facts, none of which follows from another. */
function Conditions({ summary }: { readonly summary: PipeSummary | undefined }) {
  const { lastSuccessAt, lastError, state, stateChangedAt, stateMessage } = summary ?? {};
  return (
    <Panel>
      <Facts
        facts={[
          [
            "State",
            <span key="state">
              {state ?? "–"} for <Elapsed since={stateChangedAt} />
              {stateMessage !== undefined && `: ${stateMessage}`}
            </span>,
          ],
          ["Last success", <RelativeTime key="success" at={lastSuccessAt} none="no row is durable yet" />],
          [
            "Last error",
            lastError === undefined ? (
              "none"
            ) : (
              <span key="error">
                <RelativeTime at={lastError.at} />:{" "}
                <span className="toned" data-tone="bad">
                  {lastError.message}
                </span>
              </span>
            ),
          ],
        ]}
      />
    </Panel>
  );
}
