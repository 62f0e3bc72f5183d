import { CircleCheck, CircleX } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { Note } from "../../parts/note.tsx";
import css from "./new-pipe.module.css";

type Validation = OperationResult<"validatePipe">;

/** Each check in its order, with what is wrong and what helps. */
export function Checks({ checks, warnings = [] }: Validation) {
  return (
    <>
      <ul className={css.checks} aria-label="Checks">
        {checks.map(({ name, ok, ms, issues = [], remedy }) => (
          <li key={name} className={css.check}>
            {ok ? (
              <CircleCheck className={css.ok} role="img" aria-label="ok" />
            ) : (
              <CircleX className={css.bad} role="img" aria-label="failed" />
            )}
            <span>{name}</span>
            <span className={css.muted}>{Math.round(ms)} ms</span>
            {issues.map(({ path, message }) => (
              <span key={`${path} ${message}`} className={css.issue}>
                {path !== "" && <code>{path}</code>} {message}
              </span>
            ))}
            {remedy !== undefined && <span className={css.issue}>{remedy}</span>}
          </li>
        ))}
      </ul>
      {warnings.map(({ path, message }) => (
        <Note key={`${path} ${message}`} tone="warn">
          <code>{path}</code> {message}
        </Note>
      ))}
    </>
  );
}
