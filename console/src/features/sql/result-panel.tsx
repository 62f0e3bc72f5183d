import { useState } from "react";
import type { QueryError } from "../../grid/query-error.ts";
import type { RunState } from "../../grid/query-run.ts";
import { countText, durationText } from "../../lib/format.ts";
import { Store, useStore } from "../../lib/store.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { late } from "../../parts/late.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { type Outcome, outcomeOf } from "./history.ts";
import { ProgressBar } from "./progress-bar.tsx";
import result from "./result.module.css";
import css from "./sql.module.css";
import type { RunMessage, Runs } from "./use-runs.ts";

/** Its code comes while the first statement runs. */
export const loadGrid = () => import("../../grid/result-grid.tsx");
const ResultGrid = late(async () => (await loadGrid()).ResultGrid);
const ResultChart = late(async () => (await import("./result-chart.tsx")).ResultChart);

const noRun = new Store<RunState | undefined>(undefined);

type View = "result" | "chart" | "messages";

const styles = {
  root: result.resultTabs,
  head: result.resultHead,
  list: css.tabList,
  tab: `plain ${css.tab}`,
  panel: result.resultBody,
};

/** What became of the statement: rows, a chart of them, or what went wrong. */
export function ResultPanel({ runs }: { readonly runs: Runs }) {
  const state = useStore<RunState | undefined>(runs.run?.state ?? noRun);
  const [view, setView] = useState<View>("result");
  const messages = `Messages${runs.messages.length > 0 ? ` ${runs.messages.length}` : ""}`;
  // What failed without a row has nothing to draw: its error is what there is to see.
  const isFailed = state?.error !== undefined && state.rowCount === 0;
  const chart =
    state === undefined || runs.run === undefined || isFailed ? (
      <Rows state={state} />
    ) : (
      <ResultChart statement={runs.run.statement} state={state} />
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
          { value: "result", label: "Result", content: <Rows state={state} /> },
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

/** Why a statement failed, in full. */
function QueryProblem({ error }: { readonly error: QueryError }) {
  const all = [error.message, error.more].filter(Boolean).join("\n");
  return (
    <div className={result.problem} role="alert">
      <div className={result.problemHead}>
        <Badge tone="bad">{error.code}</Badge>
        <CopyButton text={all} label="Copy message" />
      </div>
      <p>{error.message}</p>
      {error.more !== undefined && (
        <details>
          <summary>More from the engine</summary>
          <p>{error.more}</p>
        </details>
      )}
      {error.requestId !== undefined && <p className="muted">request {error.requestId}</p>}
    </div>
  );
}

const tones: Readonly<Record<Outcome, Tone>> = { done: "ok", limited: "warn", cancelled: "neutral", failed: "bad" };

/** Statements of this page that have ended. */
function Messages({ messages }: { readonly messages: readonly RunMessage[] }) {
  if (messages.length === 0)
    return <EmptyState title="No messages">Each statement that has run leaves a line here.</EmptyState>;
  return (
    <ul className={result.messages}>
      {messages.map(({ id, state }) => (
        <li key={id}>
          <span className={result.messageHead}>
            <Badge tone={tones[outcomeOf(state)]}>{outcomeOf(state)}</Badge>
            <code className="cut">{state.statement.replaceAll(/\s+/g, " ").slice(0, 300)}</code>
            <span className="muted">
              {state.columns.length > 0 && `${countText(state.rowCount)} rows · `}
              {durationText(state.elapsedMs / 1000)}
            </span>
          </span>
          {state.error !== undefined && (
            <p className={result.messageError}>{`${state.error.code}: ${state.error.message}`}</p>
          )}
        </li>
      ))}
    </ul>
  );
}
