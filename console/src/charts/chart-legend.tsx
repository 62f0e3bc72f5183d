import { type MouseEvent, useState } from "react";
import { SearchInput } from "../parts/search-input.tsx";
import css from "./chart.module.css";
import { differentColors, seriesToken } from "./colors.ts";
import { valueText } from "./format.ts";
import { newestPlace } from "./places.ts";
import type { ChartData, ChartSeries, Unit } from "./types.ts";

export type ChartLegendProps = ChartData & {
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
  /** Places of the series that the right axis measures. */
  readonly right: ReadonlySet<number>;
  /** The place whose values are shown; those of the newest whole bucket without it. */
  readonly at: number | undefined;
  /** Values add up: the sum of the whole buckets is shown. */
  readonly sums: boolean;
  readonly onHide: (hidden: ReadonlySet<string>) => void;
};

/** Names of the series with their values. A click shows one alone, then all again; with Ctrl or Shift it hides one. */
export function ChartLegend({ series, unit, hidden, right, at, sums, whole, onHide }: ChartLegendProps) {
  const [wanted, setWanted] = useState("");
  const shown = at ?? newestPlace({ series, whole });
  const choose = (event: MouseEvent, name: string) =>
    onHide(event.ctrlKey || event.metaKey || event.shiftKey ? toggled(hidden, name) : alone(series, hidden, name));
  const isKnown = ({ name }: ChartSeries) => name.toLowerCase().includes(wanted.trim().toLowerCase());
  return (
    <>
      {series.length > differentColors && (
        <div className="row">
          <SearchInput label="Find a series" value={wanted} onChange={setWanted} />
        </div>
      )}
      <ul className={css.legend} aria-label="Series">
        {series.map((one, index) => {
          if (!isKnown(one)) return null;
          const { name, values } = one;
          const known = values.slice(whole?.first ?? 0, whole?.end ?? values.length);
          return (
            <li key={name}>
              <button
                type="button"
                className={css.legendItem}
                aria-pressed={!hidden.has(name)}
                title="Click: alone, or all again. Ctrl or Shift and click: hide or show"
                onClick={(event) => choose(event, name)}
              >
                <span className={css.swatch} style={{ background: seriesToken(one, index) }} />
                <span className={`cut ${css.legendName}`}>{name}</span>
                <span className={css.legendValue}>
                  {valueText(values[shown], unit)}
                  {sums && ` · sum ${valueText(sumOf(known), unit)}`}
                  {right.has(index) && " · right axis"}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** All but one are hidden; none, when it was alone already. */
function alone(series: readonly ChartSeries[], hidden: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const others = series.filter((one) => one.name !== name).map((one) => one.name);
  const isAlone = !hidden.has(name) && others.every((other) => hidden.has(other));
  return new Set(isAlone ? [] : others);
}

function toggled(hidden: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(hidden);
  if (!next.delete(name)) next.add(name);
  return next;
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
