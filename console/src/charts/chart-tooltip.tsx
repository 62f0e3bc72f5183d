import css from "./chart.module.css";
import { seriesToken } from "./colors.ts";
import { valueText } from "./format.ts";
import { placeText } from "./places.ts";
import type { ChartData, Unit } from "./types.ts";

export type ChartTooltipProps = ChartData & {
  readonly at: number;
  /** Pixels from the left edge of the chart, and its width. */
  readonly left: number;
  readonly width: number;
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
};

const maxRows = 10;

/** All values at one time, greatest first. Follows the cursor on the side that has more room. */
export function ChartTooltip({ times, series, whole, at, left, width, unit, hidden }: ChartTooltipProps) {
  const shown = series
    .map((one, index) => ({ name: one.name, value: one.values[at] ?? null, color: seriesToken(one, index) }))
    .filter(({ name, value }) => value !== null && !hidden.has(name))
    .sort((a, b) => (b.value as number) - (a.value as number));
  const side = left > width / 2 ? { right: width - left + 14 } : { left: left + 14 };
  return (
    <div className={css.tooltip} style={side} aria-hidden="true">
      <div className={css.tooltipTime}>{placeText({ times, whole }, at)}</div>
      {shown.slice(0, maxRows).map(({ name, value, color }) => (
        <div key={name} className={css.tooltipRow}>
          <span className={css.swatch} style={{ background: color }} />
          <span className={`cut ${css.tooltipName}`}>{name}</span>
          <span className={css.tooltipValue}>{valueText(value, unit)}</span>
        </div>
      ))}
      {shown.length > maxRows && <div className={css.tooltipMore}>and {shown.length - maxRows} more</div>}
      {shown.length === 0 && <div className={css.tooltipMore}>no values</div>}
    </div>
  );
}
