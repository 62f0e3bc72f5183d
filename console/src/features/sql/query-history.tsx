import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { useRefusal } from "../../api/role.ts";
import { sessionStore } from "../../api/session-state.ts";
import { counted, durationText } from "../../lib/format.ts";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { usePast } from "./history.ts";
import css from "./sql.module.css";

type QueryHistoryProps = { readonly serviceId: string; readonly onOpen: (text: string) => void };

/** Own statements, and those of other clients, newest first. Reading them wakes nothing. */
export function QueryHistory({ serviceId, onOpen }: QueryHistoryProps) {
  const refusal = useRefusal("developer");
  if (refusal !== undefined) return <p className="muted">{refusal}</p>;
  return (
    <>
      <OwnStatements {...{ serviceId, onOpen }} />
      <OfOthers {...{ serviceId, onOpen }} />
    </>
  );
}

function OwnStatements({ serviceId, onOpen }: QueryHistoryProps) {
  const past = usePast(serviceId);
  return (
    <section aria-label="Your statements">
      <h2 className={`muted ${css.database}`}>Your statements</h2>
      {past === undefined && <Skeleton lines={3} />}
      {past?.length === 0 && <p className="muted">What you run here is kept with its outcome.</p>}
      <ul>
        {past?.map(({ text, outcome, rows, written, ms, at, error }) => (
          <Entry key={text} {...{ text, onOpen, at }} isBad={outcome === "failed"} title={error}>
            {outcome} · {outcome !== "failed" && rows !== undefined && `${counted(rows, "row")} · `}
            {written !== undefined && `${counted(written, "row")} written · `}
            {durationText(ms / 1000)}
          </Entry>
        ))}
      </ul>
    </section>
  );
}

type Query = OperationResult<"listQueries">["recent"][number];

function OfOthers({ serviceId, onOpen }: QueryHistoryProps) {
  const query = useOperation("listQueries", { params: { serviceId }, query: { limit: 200 } }, { pace: "slow" });
  const own = `millrace-api/${sessionStore.get().identity?.key.id}`;
  // What Millrace asks for itself, such as the list of tables or a chart, names no client.
  const isOther = ({ user, userAgent }: Query) =>
    userAgent !== own && !(user.startsWith("millrace-") && userAgent === "");
  return (
    <section aria-label="Other clients">
      <h2 className={`muted ${css.database}`}>Other clients</h2>
      <Answer query={query}>
        {({ running, recent, live, asOf }) => (
          <>
            {!live && (
              <p className="muted">
                {asOf === undefined ? "Nothing is known yet." : "The service does not run; this is from "}
                {asOf !== undefined && <RelativeTime at={asOf} />}
              </p>
            )}
            {live && ![...running, ...recent].some(isOther) && <p className="muted">No statement of others.</p>}
            <ul>
              {[...running, ...recent].filter(isOther).map((one) => (
                <Entry
                  key={one.queryId}
                  text={one.query}
                  at={one.startedAt}
                  isBad={one.state === "failed"}
                  title={one.error?.message}
                  onOpen={onOpen}
                >
                  {one.state === "finished" ? "done" : one.state} · {durationText(one.durationMs / 1000)}
                </Entry>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </section>
  );
}

type EntryProps = {
  readonly text: string;
  readonly at: number | string;
  readonly isBad: boolean;
  readonly title?: string | undefined;
  readonly onOpen: (text: string) => void;
  readonly children: React.ReactNode;
};

function Entry({ text, at, isBad, title, onOpen, children }: EntryProps) {
  return (
    <li>
      <button
        type="button"
        className={`plain ${css.entry}`}
        onClick={() => onOpen(text)}
        title={title ?? "Open in a tab"}
      >
        <code className="clamp">{text.trim().slice(0, 300)}</code>
        <span className={`muted ${css.entryFacts}`} data-bad={isBad || undefined}>
          {children} · <RelativeTime at={at} />
        </span>
      </button>
    </li>
  );
}
