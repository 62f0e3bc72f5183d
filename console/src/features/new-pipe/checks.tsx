import { CircleCheck, CircleX } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { Note } from "../../parts/note.tsx";
import css from "./new-pipe.module.css";

/** Checks that are not called like what they look at. */
const titles: Readonly<Record<string, string>> = {
  ...{ definition: "what was entered", service: "the service runs", limits: "limits of the organization" },
  ...{ neighbours: "no other pipe writes to the table", tableDefinition: "definition of the table" },
  ...{ mapping: "fields fit the columns", targetTables: "tables of the service", samples: "samples can be read" },
};

type Validation = OperationResult<"validatePipe">;

/** Each check in its order, with what is wrong and what helps. */
export function Checks({ checks, warnings = [] }: Validation) {
  return (
    <>
      <ul className="group" aria-label="Checks">
        {checks.map(({ name, ok, ms, issues = [], remedy }) => (
          <li key={name} className={css.check}>
            {ok ? (
              <CircleCheck className="toned" data-tone="ok" role="img" aria-label="ok" />
            ) : (
              <CircleX className="toned" data-tone="bad" role="img" aria-label="failed" />
            )}
            <span>{titles[name] ?? name}</span>
            <span className="muted">{Math.round(ms)} ms</span>
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
