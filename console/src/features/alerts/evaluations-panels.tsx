import { useMemo, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { valueText } from "../../charts/format.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import { timeText } from "../../lib/zone.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { type Alert, type Evaluation, intervalMs } from "./alert.ts";
import { AlertStateBadge } from "./alert-parts.tsx";
import { readingName, readingsChart, type StateChange, stateChanges } from "./evaluations.ts";

/** As many as the server keeps. */
const limit = 500;
/** The axis of the chart is at least as long. */
const leastWindows = 30;
/** Rows of the table at first. */
const shownAtFirst = 20;

type EvaluationsPanelsProps = {
  readonly alert: Alert;
  /** Names the series that are evaluated. */
  readonly names: readonly string[];
};

/** Values over time, changes of the state, and every evaluation. */
export function EvaluationsPanels({ alert, names }: EvaluationsPanelsProps) {
  const query = useOperation("listAlertEvaluations", { params: { alertId: alert.id }, query: { limit } });
  return (
    <Answer query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <Panel>
            <EmptyState title="Not evaluated yet">
              The last window that has ended is evaluated within a few seconds. It neither wakes the service nor keeps
              it awake.
            </EmptyState>
          </Panel>
        ) : (
          <Shown alert={alert} names={names} evaluations={data} />
        )
      }
    </Answer>
  );
}

type ShownProps = EvaluationsPanelsProps & { readonly evaluations: readonly Evaluation[] };

function Shown({ alert, names, evaluations }: ShownProps) {
  const [isWhole, setWhole] = useState(false);
  const rows = isWhole ? evaluations : evaluations.slice(0, shownAtFirst);
  const changes = stateChanges(evaluations, evaluations.length < limit);
  return (
    <>
      <Panel>
        <Values alert={alert} names={names} evaluations={evaluations} />
      </Panel>
      {changes.length > 0 && (
        <Panel flush title="Changes of state">
          <Table
            label="Changes of state"
            columns={changeColumns}
            rows={changes.slice(0, 10)}
            rowKey={({ key }) => key}
          />
        </Panel>
      )}
      <Panel flush title="Evaluations">
        <Table
          label="Evaluations"
          columns={evaluationColumns(names)}
          rows={rows}
          rowKey={({ windowStart, evaluatedAt }) => `${windowStart} ${evaluatedAt}`}
        />
        {rows.length < evaluations.length && (
          <div className="more">
            <Button onClick={() => setWhole(true)}>Show all {evaluations.length}</Button>
          </div>
        )}
      </Panel>
    </>
  );
}

function Values({ alert, names, evaluations }: ShownProps) {
  const data = useMemo(() => readingsChart(evaluations, alert, names), [evaluations, alert, names]);
  const to = data.times.at(-1) ?? 0;
  // A few windows alone would be spread over an axis of their own length.
  const from = Math.min(data.times[0] ?? 0, to - leastWindows * intervalMs(alert.interval));
  return <TimeChart name="Values of windows" {...data} from={from} to={to} height={200} />;
}

const changeColumns: readonly Column<StateChange>[] = [
  { header: "Time", nowrap: true, cell: ({ at }) => <RelativeTime at={at} /> },
  {
    header: "From",
    nowrap: true,
    cell: ({ before }) => (before === undefined ? "–" : <AlertStateBadge state={before} />),
  },
  { header: "To", nowrap: true, cell: ({ state }) => <AlertStateBadge state={state} /> },
  { header: "Reason", cell: ({ message }) => message ?? "" },
];

/** Values of one row of the table; the server lists those that fire first. */
const mostValues = 5;

function evaluationColumns(names: readonly string[]): Column<Evaluation>[] {
  return [
    {
      header: "Window",
      nowrap: true,
      cell: ({ windowStart, windowEnd }) =>
        `${timeText(Date.parse(windowStart))} – ${timeText(Date.parse(windowEnd)).slice(11)}`,
    },
    { header: "State", nowrap: true, cell: ({ state }) => <AlertStateBadge state={state} /> },
    { header: "Values", cell: (evaluation) => valuesText(evaluation, names) },
    { header: "Evaluated", nowrap: true, cell: ({ evaluatedAt }) => <RelativeTime at={evaluatedAt} /> },
  ];
}

function valuesText({ readings, message }: Evaluation, names: readonly string[]): string {
  if (readings.length === 0) return message ?? "no value";
  const texts = readings
    .slice(0, mostValues)
    .map((one) => `${readingName(one, names)} ${valueText(one.value, "number")}${one.fires ? " (fires)" : ""}`);
  const rest = readings.length - texts.length;
  return `${texts.join(", ")}${rest === 0 ? "" : `, and ${rest} more`}`;
}
