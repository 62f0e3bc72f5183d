import css from "./chart.module.css";
import { seriesToken } from "./colors.ts";
import { valueText } from "./format.ts";
import type { ChartSeries, Unit } from "./types.ts";

export type ChartLegendProps = {
  readonly series: readonly ChartSeries[];
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
  /** The place whose values are shown; the newest ones without it. */
  readonly at: number | undefined;
  readonly onToggle: (name: string) => void;
};

/** Names of the series with a value of each; a click hides or shows one. */
export function ChartLegend({ series, unit, hidden, at, onToggle }: ChartLegendProps) {
  return (
    <ul className={css.legend} aria-label="Series">
      {series.map(({ name, values }, index) => (
        <li key={name}>
          <button
            type="button"
            className={css.legendItem}
            aria-pressed={!hidden.has(name)}
            onClick={() => onToggle(name)}
          >
            <span className={css.swatch} style={{ background: seriesToken(index) }} />
            <span className={css.legendName}>{name}</span>
            <span className={css.legendValue}>{valueText(at === undefined ? newest(values) : values[at], unit)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function newest(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}
