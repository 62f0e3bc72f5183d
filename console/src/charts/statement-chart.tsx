import { useMemo } from "react";
import { counted } from "../lib/format.ts";
import { Checkbox } from "../parts/field.tsx";
import { Note } from "../parts/note.tsx";
import { InlineSelect } from "../parts/select.tsx";
import { EmptyState } from "../parts/states.tsx";
import css from "./chart.module.css";
import { chartColumns, type Result, type ResultLook, resultSeries } from "./result-series.ts";
import { TimeChart, type TimeChartProps } from "./time-chart.tsx";

const displays = [
  { value: "line", label: "Line" },
  { value: "bar", label: "Bars" },
  { value: "stacked", label: "Stacked" },
] as const;

type StatementChartProps = Omit<TimeChartProps, "times" | "series" | "display"> & {
  readonly result: Result;
  readonly look: ResultLook;
  /** Shows the choices of columns. */
  readonly onLook?: ((look: ResultLook) => void) | undefined;
};

/** A chart of the rows of a statement: a column of times, and numbers over it. */
export function StatementChart({ result, look, onLook, ...chart }: StatementChartProps) {
  const { rows, rowCount } = result;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows grow in place.
  const chosen = useMemo(() => chartColumns(result, look), [rows, rowCount, look]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows grow in place.
  const data = useMemo(() => resultSeries(result, chosen, look), [rows, rowCount, chosen, look]);
  if (data === undefined) {
    return (
      <EmptyState title="No chart of this result">
        A chart needs a column of times and a column of numbers, as in{" "}
        <code>SELECT toStartOfMinute(time) AS t, count() ... GROUP BY t</code>
      </EmptyState>
    );
  }
  const { leftGroups, isRepeated, ...drawn } = data;
  return (
    <>
      {onLook !== undefined && <Choices {...{ result, look, onLook, chosen }} />}
      <TimeChart {...chart} {...drawn} display={look.display} />
      {leftGroups > 0 && <Note>{counted(leftGroups, "group")} with smaller values are not drawn.</Note>}
      {isRepeated && (
        <Note tone="warn">
          {`Several rows have the same time${chosen.group === undefined ? "" : " and group"}: only the last of them is drawn.`}
        </Note>
      )}
    </>
  );
}

type ChoicesProps = {
  readonly result: Result;
  readonly look: ResultLook;
  readonly onLook: (look: ResultLook) => void;
  readonly chosen: ReturnType<typeof chartColumns>;
};

/** Which columns are drawn, and how. */
function Choices({ result: { columns }, look, onLook, chosen }: ChoicesProps) {
  const nameAt = (at: number) => columns[at]?.name as string;
  const change = (next: Partial<ResultLook>) => onLook({ ...look, ...next });
  const names = chosen.numbers.map(nameAt);
  const choose = (name: string, isWanted: boolean) =>
    change({ values: chosen.allNumbers.map(nameAt).filter((one) => (one === name ? isWanted : names.includes(one))) });
  return (
    <div className="row">
      <InlineSelect
        label="Display"
        value={look.display}
        options={displays}
        onChange={(display) => change({ display })}
      />
      {chosen.times.length > 1 && (
        <InlineSelect
          label="Time"
          value={nameAt(chosen.time as number)}
          options={chosen.times.map(nameAt)}
          onChange={(time) => change({ time })}
        />
      )}
      {chosen.groups.length > 0 && (
        <InlineSelect
          label="Group by"
          value={look.group}
          all="Automatic groups"
          options={chosen.groups.map(nameAt)}
          onChange={(group) => change({ group })}
        />
      )}
      {chosen.allNumbers.length > 1 && (
        <fieldset className={`row ${css.values}`}>
          <legend className="visually-hidden">Values</legend>
          {chosen.allNumbers.map(nameAt).map((name) => (
            <Checkbox
              key={name}
              label={name}
              value={names.includes(name)}
              disabled={names.length === 1 && names.includes(name)}
              onChange={(isWanted) => choose(name, isWanted)}
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
