import { useMemo, useState } from "react";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { ChartDisplay } from "../../charts/types.ts";
import { InlineSelect } from "../../parts/select.tsx";
import { EmptyState } from "../../parts/states.tsx";
import type { RunState } from "./query-run.ts";
import css from "./result.module.css";
import { chartColumns, resultSeries } from "./result-series.ts";

const displays = [
  { value: "line", label: "Line" },
  { value: "bar", label: "Bars" },
  { value: "stacked", label: "Stacked" },
] as const satisfies readonly { value: ChartDisplay; label: string }[];

/** A chart of the rows that are there: a column of times, and numbers over it. */
export function ResultChart({ state }: { readonly state: RunState }) {
  const { columns, rows, rowCount } = state;
  const found = useMemo(() => chartColumns(columns), [columns]);
  const [display, setDisplay] = useState<ChartDisplay>("line");
  const [time, setTime] = useState<string>();
  const [group, setGroup] = useState("");
  const [value, setValue] = useState("");
  const timeAt = found.times.find((at) => columns[at]?.name === time) ?? found.times[0];
  const chosen = found.numbers.filter((at) => columns[at]?.name === value);
  const numbers = chosen.length > 0 ? chosen : found.numbers;
  const groupAt = found.groups.find((at) => columns[at]?.name === group);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows grow in place.
  const data = useMemo(
    () => (timeAt === undefined ? undefined : resultSeries(columns, rows, timeAt, numbers, groupAt)),
    [columns, rows, rowCount, timeAt, groupAt, found, value],
  );
  if (data === undefined || found.numbers.length === 0) {
    return (
      <EmptyState title="No chart of this result">
        A chart needs a column of times and a column of numbers, as in{" "}
        <code>SELECT toStartOfMinute(time) AS t, count() ... GROUP BY t</code>
      </EmptyState>
    );
  }
  const nameAt = (at: number) => columns[at]?.name as string;
  return (
    <div className={css.chart}>
      <div className={css.chartTools}>
        <InlineSelect label="Display" value={display} options={displays} onChange={setDisplay} />
        {found.times.length > 1 && (
          <InlineSelect
            label="Time"
            value={nameAt(timeAt as number)}
            options={found.times.map(nameAt)}
            onChange={setTime}
          />
        )}
        {found.numbers.length > 1 && (
          <InlineSelect
            label="Values"
            value={chosen.length > 0 ? value : ""}
            all="All numbers"
            options={found.numbers.map(nameAt)}
            onChange={setValue}
          />
        )}
        {found.groups.length > 0 && (
          <InlineSelect
            label="Group by"
            value={group}
            all="No groups"
            options={found.groups.map(nameAt)}
            onChange={setGroup}
          />
        )}
      </div>
      <TimeChart name="Result" {...data} display={display} height={260} hideHeader={false} />
    </div>
  );
}
