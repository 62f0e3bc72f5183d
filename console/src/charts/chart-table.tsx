import { zoneText } from "../lib/zone.ts";
import css from "./chart.module.css";
import { valueText } from "./format.ts";
import { placeText } from "./places.ts";
import type { ChartData, Unit } from "./types.ts";

export type ChartTableProps = ChartData & {
  readonly name: string;
  readonly unit: Unit;
};

const maxRows = 1000;

/** The values of a chart as a table, newest first. */
export function ChartTable({ name, times, series, whole, unit }: ChartTableProps) {
  const places = times.map((_, at) => times.length - 1 - at).slice(0, maxRows);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard.
    <section className={css.tableBox} tabIndex={0} aria-label={`${name}: values`}>
      <table className={css.table}>
        <caption>
          {name}
          {times.length > maxRows ? `, newest ${maxRows} of ${times.length} times` : ""}
        </caption>
        <thead>
          <tr>
            <th scope="col">Time, {zoneText(times.at(-1) ?? 0)}</th>
            {series.map((one) => (
              <th key={one.name} scope="col">
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.map((at) => (
            <tr key={times[at]}>
              <th scope="row">{placeText({ times, whole }, at)}</th>
              {series.map((one) => (
                <td key={one.name}>{one.values[at] == null ? "–" : valueText(one.values[at], unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
