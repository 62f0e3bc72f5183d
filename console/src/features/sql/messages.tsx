import { countText, durationText } from "../../lib/format.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Outcome, outcomeOf } from "./history.ts";
import type { QueryError } from "./query-error.ts";
import result from "./result.module.css";
import type { RunMessage } from "./use-runs.ts";

/** Why a statement failed, in full. */
export function QueryProblem({ error }: { readonly error: QueryError }) {
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
