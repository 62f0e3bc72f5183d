import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, SquareTerminal } from "lucide-react";
import { useState } from "react";
import { queryClient, refetch } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import type { StatementPanel } from "../../charts/dashboard.ts";
import { StatementChart } from "../../charts/statement-chart.tsx";
import type { Bounds } from "../../charts/time-range.ts";
import { parametersIn } from "../../editor/lexer.ts";
import type { QueryError } from "../../grid/query-error.ts";
import { QueryRun, type RunState, type Statement } from "../../grid/query-run.ts";
import { LastValues } from "../../lib/last-values.ts";
import { IconButton } from "../../parts/button.tsx";
import { TextArea } from "../../parts/field.tsx";
import { Menu, MenuItem } from "../../parts/menu.tsx";
import { Note } from "../../parts/note.tsx";
import { ServiceAway } from "../../parts/service-away.tsx";
import { EmptyState, Skeleton } from "../../parts/states.tsx";
import { cursorKey } from "./cursor-key.ts";
import css from "./dashboards.module.css";

type StatementPanelContentProps = {
  readonly panel: StatementPanel;
  readonly bounds: Bounds;
  readonly onRange: (fromMs: number, toMs: number) => void;
  /** While the dashboard is edited. */
  readonly onChange: ((panel: StatementPanel) => void) | undefined;
};

const reads = ["runQuery"] as const;

/** A chart of the rows of a statement. Its service is asked while it runs, and neither woken nor kept awake. */
export function StatementPanelContent({ panel, bounds, onRange, onChange }: StatementPanelContentProps) {
  const { title, serviceId, query, look } = panel;
  // What is typed runs when its input is left.
  const [left, setLeft] = useState(query);
  const asked = onChange === undefined ? query : left;
  const { state, error, keptAt, ask } = useStatement({ ...panel, query: asked }, bounds);
  // Without them, the axis is that of the rows.
  const isOfRange = Object.keys(rangeParams(asked, bounds)).length > 0;
  const isAway = error?.code === "SERVICE_ASLEEP";
  return (
    <>
      <div className={`${css.head} ${css.besideButton}`}>
        <h2 className={`cut ${css.title}`}>{title}</h2>
        <StatementMenu panel={panel} />
      </div>
      {onChange !== undefined && (
        <TextArea
          mono
          label={`Statement of ${title}`}
          hint="{from:DateTime} and {to:DateTime} are the ends of the range."
          value={query}
          onChange={(text) => onChange({ ...panel, query: text })}
          onBlur={() => setLeft(query)}
        />
      )}
      {error !== undefined && !isAway && <Note tone="bad">{`${error.code}: ${error.message}`}</Note>}
      {state === undefined && error === undefined && <Skeleton lines={6} />}
      {state?.rowCount === 0 && <EmptyState title="No rows">The statement has no rows in this range.</EmptyState>}
      {state !== undefined && state.rowCount > 0 && (
        <StatementChart
          name={title}
          result={state}
          look={look}
          onLook={onChange && ((next) => onChange({ ...panel, look: next }))}
          {...(isOfRange ? bounds : {})}
          height={panel.height}
          hideHeader
          syncKey={cursorKey}
          onRange={onRange}
        />
      )}
      {state?.cutAt !== undefined && <Note tone="warn">Only the first 10,000 rows are drawn.</Note>}
      {isAway && <ServiceAway {...{ serviceId, reads, keptAt }} onWake={ask} wakeLabel="Wake and ask" />}
    </>
  );
}

type Kept = { readonly state: RunState; readonly at: number };

/** By statement: its last result since the page was opened. */
const lastResults = new LastValues<Kept>(50);

/** The newest result; while the service does not run, the last one with its time. */
function useStatement({ serviceId, query, params }: StatementPanel, bounds: Bounds) {
  const statement = { serviceId, query, params: { ...params, ...rangeParams(query, bounds) }, readonly: true };
  const key = JSON.stringify([serviceId, query, params]);
  const queryKey = ["runQuery", statement, bounds];
  const { data, error, isPlaceholderData } = useQuery<RunState, QueryError>({
    queryKey,
    queryFn: ({ signal }) => resultOf({ ...statement, wake: "never" }, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    // A result may be large, and is of this range alone.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (data !== undefined && !isPlaceholderData && lastResults.get(key)?.state !== data)
    lastResults.set(key, { state: data, at: serverNow() });
  const kept = error?.code === "SERVICE_ASLEEP" ? lastResults.get(key) : undefined;
  const ask = async () => {
    // The service may sleep again before it is asked once more.
    queryClient.setQueryData(queryKey, await resultOf(statement));
    await refetch("listServices");
  };
  return {
    ask,
    state: data ?? kept?.state,
    error: error ?? undefined,
    keptAt: kept && new Date(kept.at).toISOString(),
  };
}

async function resultOf(statement: Statement, signal?: AbortSignal): Promise<RunState> {
  const run = new QueryRun(statement);
  signal?.addEventListener("abort", () => run.cancel());
  const state = await run.run();
  if (state.error !== undefined) throw state.error;
  return state;
}

/** Values of the parameters `from` and `to` of a statement, in the form of their types. */
function rangeParams(query: string, bounds: Bounds): Record<string, string> {
  const ends = parametersIn(query).flatMap(({ name, type }) =>
    name === "from" || name === "to" ? [[name, timeParam(bounds[name], type)]] : [],
  );
  return Object.fromEntries(ends);
}

function timeParam(ms: number, type: string): string {
  if (/DateTime64/.test(type)) return (ms / 1000).toFixed(3);
  return /DateTime|Int/.test(type) ? String(Math.floor(ms / 1000)) : new Date(ms).toISOString().slice(0, 10);
}

function StatementMenu({ panel: { title, serviceId, query, params } }: { readonly panel: StatementPanel }) {
  const navigate = useNavigate();
  const search = { service: serviceId, q: query, p: JSON.stringify(params) };
  return (
    <Menu trigger={<IconButton small label={`Actions of ${title}`} icon={Ellipsis} />}>
      <MenuItem icon={SquareTerminal} onSelect={() => void navigate({ to: "/sql", search })}>
        Open in SQL
      </MenuItem>
    </Menu>
  );
}
