/** What became of statements that ran. */
import type { QueryError } from "../../grid/query-error.ts";
import type { RunState } from "../../grid/query-run.ts";
import { ResultGrid } from "../../grid/result-grid.tsx";
import { counted, durationText } from "../../lib/format.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Outcome, outcomeOf } from "./history.ts";
import result from "./result.module.css";
import type { RunMessage } from "./use-runs.ts";

type ShownResultProps = {
  readonly state: RunState;
  /** The same in one line. */
  readonly text: string;
};

/** Rows, lines of text, or why there are none. */
export function ShownResult({ state, text: line }: ShownResultProps) {
  if (state.error !== undefined && state.rowCount === 0) return <QueryProblem error={state.error} />;
  if (state.columns.length === 0) {
    if (state.status === "running") return null;
    if (state.status === "cancelled")
      return <EmptyState title="Cancelled">The query has ended in the engine.</EmptyState>;
    return <EmptyState title="OK">{`No result. ${line}`}</EmptyState>;
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

/** Why a statement failed, in full. */
function QueryProblem({ error }: { readonly error: QueryError }) {
  const all = [error.message, error.more].filter(Boolean).join("\n");
  return (
    <div className={result.problem} role="alert">
      <div className={`row ${result.problemHead}`}>
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
export function Messages({ messages }: { readonly messages: readonly RunMessage[] }) {
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
              {state.columns.length > 0 && `${counted(state.rowCount, "row")} · `}
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
