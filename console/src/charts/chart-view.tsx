/** An answer in the display of its chart. */
import { useMemo } from "react";
import { Note } from "../parts/note.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { groupText, numberOf, seriesOf } from "./answer.ts";
import css from "./chart.module.css";
import { addsUp, type ChartDefinition, emptyValue, seriesNames, splitList } from "./definition.ts";
import { valueText } from "./format.ts";
import { TimeChart } from "./time-chart.tsx";
import type { Bounds } from "./time-range.ts";
import type { ChartSeries } from "./types.ts";
import type { ChartAnswer } from "./use-chart.ts";

type ChartViewProps = {
  readonly name: string;
  readonly definition: ChartDefinition;
  readonly answer: ChartAnswer;
  readonly bounds: Bounds;
  readonly height?: number;
  readonly syncKey?: string;
  readonly hideHeader?: boolean;
  readonly onRange?: (fromMs: number, toMs: number) => void;
  readonly onBucket?: (fromMs: number, toMs: number) => void;
};

export function ChartView(props: ChartViewProps) {
  const { definition, answer } = props;
  const isFormula = definition.formula.trim() !== "";
  const names = isFormula ? [definition.formula.trim()] : seriesNames(definition.series);
  const members = isFormula ? ["formula.data"] : names.map((_, at) => `series_${at}.data`);
  if (answer.data.length === 0)
    return <EmptyState title="No rows">In this range no row matches. A longer range may have some.</EmptyState>;
  if (definition.display === "number") return <Numbers {...props} {...{ names, members }} />;
  if (definition.display === "table") return <Rows {...props} {...{ names, members }} />;
  return <OverTime {...props} {...{ names, members }} />;
}

type Named = { readonly names: readonly string[]; readonly members: readonly string[] };

function OverTime({ name, definition, answer, bounds, names, members, height = 240, ...rest }: ChartViewProps & Named) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names follow from the definition.
  const data = useMemo(() => dataOf(definition, answer, names, members), [answer, names.join("\n")]);
  const display = definition.display as "line" | "bar" | "stacked";
  const isCut = answer.truncated === true && answer.otherGroups === undefined;
  return (
    <>
      <TimeChart
        {...{ name, display, height }}
        {...data}
        {...rest}
        sums={addsUp(definition)}
        from={bounds.from}
        to={bounds.to}
      />
      {display === "stacked" && data.series.length > 1 && data.series.some(({ isAlone }) => isAlone) && (
        <Note>Only counts and sums add up: other values are not stacked.</Note>
      )}
      {isCut && <Note>Only the {definition.limit} groups with the greatest values are drawn.</Note>}
    </>
  );
}

/** Series of one field share an axis; so do counts. Those whose values do not add up are not stacked. */
export function dataOf(
  definition: ChartDefinition,
  answer: ChartAnswer,
  names: readonly string[],
  members: readonly string[],
) {
  const { series, ...data } = seriesOf(answer, names, members, emptyValue(definition));
  const units = definition.series.map(({ aggFn, field }) => (aggFn.startsWith("count") ? "" : field.trim()));
  const measureOf = (index = 0) => units.indexOf(units[index] ?? "");
  const isAlone = ({ measure = 0 }: ChartSeries) =>
    !addsUp({ ...definition, series: definition.series.slice(measure, measure + 1) });
  return { ...data, series: series.map((one) => ({ ...one, measure: measureOf(one.measure), isAlone: isAlone(one) })) };
}

function Numbers({ definition, answer, names, members }: ChartViewProps & Named) {
  const groups = definition.groupBy.trim();
  const [row] = answer.data;
  return (
    <dl className={css.numbers}>
      {members.map((member, at) => (
        <div key={member}>
          <dd>{valueText(numberOf(row?.[member]), "number")}</dd>
          <dt>
            {names[at]}
            {groups !== "" && `, over all ${groups}`}
          </dt>
        </div>
      ))}
    </dl>
  );
}

function groupCell({ otherGroups }: ChartAnswer, row: ChartAnswer["data"][number], at: number): string {
  if (row.others !== true) return groupText({ group: [row.group[at]] });
  return at === 0 ? groupText(row, otherGroups) : "";
}

function Rows({ name, definition, answer, names, members }: ChartViewProps & Named) {
  type Row = ChartAnswer["data"][number];
  const groups = splitList(definition.groupBy);
  const groupColumns = groups.map((header, at) => ({
    key: `group ${at}`,
    header,
    cell: (row: Row) => groupCell(answer, row, at),
  }));
  const valueColumns = names.map((header, at) => ({
    key: `value ${at}`,
    header,
    align: "end" as const,
    cell: (row: Row) => valueText(numberOf(row[members[at] as string]), "number"),
  }));
  return (
    <Table
      label={name}
      columns={[...groupColumns, ...valueColumns]}
      rows={answer.data}
      rowKey={(row) => JSON.stringify([row.ts_bucket, row.others, row.group])}
    />
  );
}
