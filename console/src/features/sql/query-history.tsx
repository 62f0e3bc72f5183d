import { useOperation } from "../../api/queries.ts";
import { useRefusal } from "../../api/role.ts";
import { durationText } from "../../lib/format.ts";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import css from "./sql.module.css";

type QueryHistoryProps = { readonly serviceId: string; readonly onOpen: (text: string) => void };

/** Statements of all clients of the service, newest first. Reading them wakes nothing. */
export function QueryHistory({ serviceId, onOpen }: QueryHistoryProps) {
  const refusal = useRefusal("developer");
  const query = useOperation(
    "listQueries",
    { params: { serviceId }, query: { limit: 60 } },
    { pace: "slow", enabled: refusal === undefined },
  );
  if (refusal !== undefined) return <p className={css.quiet}>{refusal}</p>;
  return (
    <Answer query={query}>
      {({ running, recent, live, asOf }) => (
        <div>
          {!live && asOf !== undefined && (
            <p className={css.quiet}>
              The service sleeps; this is from <RelativeTime at={asOf} />.
            </p>
          )}
          {running.length + recent.length === 0 && <p className={css.quiet}>Statements that have run appear here.</p>}
          <ul>
            {[...running, ...recent].map((one) => (
              <li key={one.queryId}>
                <button type="button" className={css.entry} onClick={() => onOpen(one.query)} title="Open in a tab">
                  <code className={css.entryText}>{one.query.trim().slice(0, 300)}</code>
                  <span className={css.entryFacts} data-bad={one.state === "failed" || undefined}>
                    {one.state === "finished" ? "" : `${one.state} · `}
                    {durationText(one.durationMs / 1000)} · <RelativeTime at={one.startedAt} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Answer>
  );
}
