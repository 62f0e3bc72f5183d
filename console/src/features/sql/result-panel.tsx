import { Tabs } from "@base-ui/react/tabs";
import { lazy, Suspense, useState } from "react";
import { ResultGrid } from "../../grid/result-grid.tsx";
import { countText, durationText } from "../../lib/format.ts";
import { Store, useStore } from "../../lib/store.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Messages, QueryProblem } from "./messages.tsx";
import { ProgressBar } from "./progress-bar.tsx";
import type { RunState } from "./query-run.ts";
import result from "./result.module.css";
import css from "./sql.module.css";
import type { Runs } from "./use-runs.ts";

const ResultChart = lazy(async () => ({ default: (await import("./result-chart.tsx")).ResultChart }));

const noRun = new Store<RunState | undefined>(undefined);

type View = "result" | "chart" | "messages";

/** What became of the statement: rows, a chart of them, or what went wrong. */
export function ResultPanel({ runs }: { readonly runs: Runs }) {
  const state = useStore<RunState | undefined>(runs.run?.state ?? noRun);
  const [view, setView] = useState<View>("result");
  return (
    <section className={result.result} aria-label="Result">
      <Tabs.Root value={view} onValueChange={(next) => setView(next as View)} className={result.resultTabs}>
        <div className={result.resultHead}>
          <Tabs.List className={css.tabList} aria-label="Result">
            <Tab value="result" label="Result" />
            <Tab value="chart" label="Chart" />
            <Tab value="messages" label={`Messages${runs.messages.length > 0 ? ` ${runs.messages.length}` : ""}`} />
          </Tabs.List>
          <Status state={state} />
        </div>
        {state?.status === "running" && <ProgressBar state={state} />}
        <Tabs.Panel value="result" className={result.resultBody}>
          <Rows state={state} />
        </Tabs.Panel>
        <Tabs.Panel value="chart" className={result.resultBody}>
          {state === undefined ? (
            <NothingYet />
          ) : (
            <Suspense>
              <ResultChart state={state} />
            </Suspense>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="messages" className={result.resultBody}>
          <Messages messages={runs.messages} />
        </Tabs.Panel>
      </Tabs.Root>
    </section>
  );
}

function Tab({ value, label }: { readonly value: View; readonly label: string }) {
  return (
    <Tabs.Tab value={value} className={css.tab}>
      {label}
    </Tabs.Tab>
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

function Rows({ state }: { readonly state: RunState | undefined }) {
  if (state === undefined) return <NothingYet />;
  if (state.error !== undefined && state.rowCount === 0) return <QueryProblem error={state.error} />;
  if (state.columns.length === 0) {
    if (state.status === "running") return null;
    if (state.status === "cancelled")
      return <EmptyState title="Cancelled">The query has ended in the engine.</EmptyState>;
    return <EmptyState title="OK">{`No result. ${outcomeText(state)}`}</EmptyState>;
  }
  const text = plainText(state);
  return (
    <>
      {state.error !== undefined && <QueryProblem error={state.error} />}
      {text === undefined ? (
        <ResultGrid
          key={state.startedAt}
          label="Result"
          columns={state.columns}
          rows={state.rows}
          rowCount={state.rowCount}
        />
      ) : (
        <div className={result.plain}>
          <CodeBlock label="result" text={text} />
        </div>
      )}
    </>
  );
}

/** Plans of EXPLAIN and results with a FORMAT clause are lines of text. */
function plainText({ columns, rows, statement }: RunState): string | undefined {
  const name = columns[0]?.name;
  const isPlain =
    columns.length === 1 &&
    (name === "explain" || new RegExp(`\\bformat\\s+${name?.replace(/\W/g, "")}\\s*;?\\s*$`, "i").test(statement));
  return isPlain ? rows.map(([line]) => String(line)).join("\n") : undefined;
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
  const rows = columns.length === 0 ? "" : `${countText(rowCount)} rows, `;
  const written = writtenRows > 0 ? `, ${countText(writtenRows)} rows written` : "";
  const read = progress === undefined || progress.readRows === 0 ? "" : `, ${countText(progress.readRows)} rows read`;
  if (status === "cancelled") return `Cancelled: ${rows}${time}`;
  if (cutAt === "rows") return `First ${rows}${time}: stopped at the limit of 10,000 rows; Export has all`;
  if (cutAt === "bytes") return `First ${rows}${time}: stopped at the limit of 64 MiB; Export has all`;
  return `${rows}${time}${read}${written}`;
}
