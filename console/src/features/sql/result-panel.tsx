import { useEffect, useState } from "react";
import type { RunState } from "../../grid/query-run.ts";
import { bytesText, counted, durationText, shortCountText } from "../../lib/format.ts";
import { Store, useStore } from "../../lib/store.ts";
import { late } from "../../parts/late.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import result from "./result.module.css";
import css from "./sql.module.css";
import type { Runs } from "./use-runs.ts";

/** Its code comes while the first statement runs. */
export const loadResult = () => import("./shown-result.tsx");
const ShownResult = late(async () => (await loadResult()).ShownResult);
const Messages = late(async () => (await loadResult()).Messages);
const ResultChart = late(async () => (await import("./result-chart.tsx")).ResultChart);

const noRun = new Store<RunState | undefined>(undefined);

type View = "result" | "chart" | "messages";

const styles = {
  root: result.resultTabs,
  head: `row ${result.resultHead}`,
  list: css.tabList,
  tab: `plain ${css.tab}`,
  panel: result.resultBody,
};

/** What became of the statement: rows, a chart of them, or what went wrong. */
export function ResultPanel({ runs }: { readonly runs: Runs }) {
  const state = useStore<RunState | undefined>(runs.run?.state ?? noRun);
  const [view, setView] = useState<View>("result");
  const messages = `Messages${runs.messages.length > 0 ? ` ${runs.messages.length}` : ""}`;
  // Nothing to draw: what failed without a row, and what has no result, also not yet.
  const isBare =
    state === undefined || state.columns.length === 0 || (state.error !== undefined && state.rowCount === 0);
  const rows =
    state === undefined ? <NothingYet /> : <ShownResult key={runs.tabId} state={state} text={outcomeText(state)} />;
  const chart =
    isBare || runs.run === undefined ? (
      rows
    ) : (
      <ResultChart key={runs.tabId} statement={runs.run.statement} state={state} />
    );
  return (
    <section className={result.result} aria-label="Result">
      <Tabs
        label="Result"
        value={view}
        onChange={setView}
        styles={styles}
        beside={<Status state={state} />}
        between={state?.status === "running" && <ProgressBar state={state} />}
        tabs={[
          { value: "result", label: "Result", content: rows },
          { value: "chart", label: "Chart", content: chart },
          { value: "messages", label: messages, content: <Messages messages={runs.messages} /> },
        ]}
      />
    </section>
  );
}

function NothingYet() {
  return (
    <EmptyState title="No result yet">
      <kbd>Ctrl Enter</kbd> runs the text, <kbd>Ctrl Shift Enter</kbd> the selection or the statement at the cursor,{" "}
      <kbd>Esc</kbd> ends it.
    </EmptyState>
  );
}

/** One line about a statement, which screen readers hear when it has ended. */
function Status({ state }: { readonly state: RunState | undefined }) {
  const text = state === undefined || state.status === "running" ? "" : outcomeText(state);
  return (
    <p className={result.status} role="status" data-bad={state?.status === "failed" || undefined}>
      {text}
    </p>
  );
}

function outcomeText({ status, rowCount, elapsedMs, cutAt, writtenRows, columns, progress }: RunState): string {
  const time = durationText(elapsedMs / 1000);
  if (status === "failed") return `Failed after ${time}`;
  const rows = columns.length === 0 ? "" : `${counted(rowCount, "row")}, `;
  const written = writtenRows > 0 ? `, ${counted(writtenRows, "row")} written` : "";
  const read = progress === undefined || progress.readRows === 0 ? "" : `, ${counted(progress.readRows, "row")} read`;
  if (status === "cancelled") return `Cancelled: ${rows}${time}`;
  if (cutAt === "rows") return `First ${rows}${time}: stopped at the limit of 10,000 rows; Export has all`;
  if (cutAt === "bytes") return `First ${rows}${time}: stopped at the limit of 64 MiB; Export has all`;
  return `${rows}${time}${read}${written}`;
}

/** What the engine has read so far. Shown after 200 ms, so that fast statements do not flicker. */
function ProgressBar({ state: { progress, startedAt } }: { readonly state: RunState }) {
  const [now, setNow] = useState(startedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  const elapsed = now - startedAt;
  if (elapsed < 200) return <div className={result.progress} />;
  const share =
    progress === undefined || progress.totalRows === 0
      ? undefined
      : Math.min(1, progress.readRows / progress.totalRows);
  const rate = progress === undefined || progress.elapsedMs === 0 ? 0 : progress.readRows / (progress.elapsedMs / 1000);
  return (
    <div className={result.progress}>
      <progress aria-label="Rows read" {...(share === undefined ? {} : { value: share })} max={1} />
      <span className="numeric">
        {progress === undefined
          ? `Waiting, ${durationText(elapsed / 1000)}`
          : `${counted(progress.readRows, "row", shortCountText)}, ${bytesText(progress.readBytes)}, ${shortCountText(rate)} rows/s, ${durationText(elapsed / 1000)}`}
      </span>
    </div>
  );
}
