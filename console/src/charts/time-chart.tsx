import { Table2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useMemo, useRef, useState } from "react";
import { zoneText } from "../lib/zone.ts";
import css from "./chart.module.css";
import { ChartLegend } from "./chart-legend.tsx";
import { seriesToken, useChartColors } from "./colors.ts";
import { valueText } from "./format.ts";
import { placeText, rightSeries, spanAt } from "./places.ts";
import { type PlotInput, placeUnder } from "./plot-options.ts";
import type { ChartData, ChartDisplay, Unit } from "./types.ts";
import { usePlot } from "./use-plot.ts";
import "uplot/dist/uPlot.min.css";

export type TimeChartProps = ChartData & {
  /** What the chart shows; its accessible name. */
  readonly name: string;
  readonly display?: ChartDisplay;
  readonly unit?: Unit;
  /** The requested range in ms, which the axis shows also where there are no values. */
  readonly from?: number;
  readonly to?: number;
  /** Height of the plot in pixels. */
  readonly height?: number;
  /** Charts with the same key show one cursor. */
  readonly syncKey?: string;
  readonly hideHeader?: boolean;
  readonly hideLegend?: boolean;
  /** The values of a series add up to what the legend shows as their sum. */
  readonly sums?: boolean;
  /** Buttons beside the name. */
  readonly actions?: ReactNode;
  /** A range was dragged. */
  readonly onRange?: (fromMs: number, toMs: number) => void;
  /** A bucket was chosen by a click or Enter. */
  readonly onBucket?: (fromMs: number, toMs: number) => void;
};

/** A chart over time with legend, tooltip, a cursor for the keyboard, and its values as a table. */
export function TimeChart(props: TimeChartProps) {
  const { name, unit = "number", height = 220 } = props;
  const [asTable, setAsTable] = useState(false);
  const [at, setAt] = useState<number>();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const { times, series, bucketMs, whole, display = "line" } = props;
  const right = useMemo(() => rightSeries({ series, display, hidden }), [series, display, hidden]);
  const shared = { times, series, unit, bucketMs, whole };
  return (
    <figure className={css.figure} aria-label={name}>
      <div className={`row ${css.header}`}>
        <figcaption className={props.hideHeader === true ? "visually-hidden" : `cut ${css.caption}`}>{name}</figcaption>
        <div className={`row ${css.actions}`}>
          {props.actions}
          <button
            type="button"
            className={css.iconButton}
            aria-pressed={asTable}
            aria-label={`View ${name} as table`}
            title="View as table"
            onClick={() => setAsTable(!asTable)}
          >
            <Table2 size={16} aria-hidden="true" />
          </button>
        </div>
      </div>
      {asTable ? (
        <ChartTable name={name} {...shared} />
      ) : (
        <Plot {...props} {...shared} height={height} at={at} onAt={setAt} hidden={hidden} />
      )}
      {props.hideLegend !== true && !asTable && (
        <ChartLegend {...shared} {...{ hidden, right, at }} sums={props.sums === true} onHide={setHidden} />
      )}
    </figure>
  );
}

type PlotProps = TimeChartProps & {
  readonly unit: Unit;
  readonly height: number;
  readonly at: number | undefined;
  readonly onAt: (at: number | undefined) => void;
  readonly hidden: ReadonlySet<string>;
};

function Plot(props: PlotProps) {
  const { name, times, series, unit, at, onAt, hidden, height, bucketMs, whole } = props;
  const box = useRef<HTMLDivElement>(null);
  const hint = useId();
  const [spoken, setSpoken] = useState("");
  const colors = useChartColors(box);
  const { display = "line", from, to, syncKey } = props;
  const input = useMemo<PlotInput | undefined>(
    () => colors && { times, series, display, unit, from, to, syncKey, hidden, colors, bucketMs, whole },
    [times, series, display, unit, from, to, syncKey, hidden, colors, bucketMs, whole],
  );
  const onSelect = (fromMs: number, toMs: number) => props.onRange?.(fromMs, toMs);
  const plot = usePlot(box, input, { onCursor: onAt, onSelect });
  const left = plot.current?.cursor.left ?? -1;
  const axis = plot.current?.over.offsetLeft ?? 0;

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter" && at !== undefined) props.onBucket?.(...spanAt(props, at));
    const next = placeAfter(event.key, at, times.length);
    if (next === undefined || plot.current === undefined) return;
    event.preventDefault();
    const middle = (times[next] as number) + (display === "bar" ? (bucketMs ?? 0) / 2 : 0);
    plot.current.setCursor({ left: Math.max(0, plot.current.valToPos(middle / 1000, "x")), top: 10 });
    onAt(next);
    const values = series
      .filter((one) => !hidden.has(one.name))
      .map((one) => `${one.name} ${valueText(one.values[next], unit)}`);
    setSpoken(`${placeText({ times, whole }, next)}: ${values.slice(0, 8).join(", ")}`);
  }

  function onClick(): void {
    const place = plot.current && input && placeUnder(plot.current, input);
    if (place !== undefined) props.onBucket?.(...spanAt(props, place));
  }

  return (
    <div className={css.plotFrame}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is a part of a form. */}
      <div
        ref={box}
        role="group"
        aria-roledescription="chart"
        aria-label={name}
        aria-describedby={hint}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move a cursor in the chart.
        tabIndex={0}
        className={css.plot}
        style={{ height }}
        onKeyDown={onKeyDown}
        onClick={onClick}
      />
      <span id={hint} className="visually-hidden">
        {summary(times.length, series.length)}
      </span>
      {at !== undefined && left >= 0 && times[at] !== undefined && (
        <ChartTooltip
          {...{ times, series, whole, at, unit, hidden }}
          left={left + axis}
          width={box.current?.clientWidth ?? 0}
        />
      )}
      <span className="visually-hidden" aria-live="polite">
        {spoken}
      </span>
    </div>
  );
}

function summary(times: number, series: number): string {
  if (times === 0) return "No values.";
  return `${series} series with ${times} times. Arrow keys read values; Home and End go to the ends.`;
}

/** Where a key moves the cursor; undefined for other keys. */
function placeAfter(key: string, at: number | undefined, length: number): number | undefined {
  if (length === 0) return undefined;
  const last = length - 1;
  switch (key) {
    case "ArrowLeft":
      return at === undefined ? last : Math.max(0, at - 1);
    case "ArrowRight":
      return at === undefined ? 0 : Math.min(last, at + 1);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

type ChartTableProps = ChartData & {
  readonly name: string;
  readonly unit: Unit;
};

const maxRows = 1000;

/** The values of a chart as a table, newest first. */
function ChartTable({ name, times, series, whole, unit }: ChartTableProps) {
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
            <th scope="col">Time, {zoneText(times[0] ?? 0, times.at(-1))}</th>
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

type ChartTooltipProps = ChartData & {
  readonly at: number;
  /** Pixels from the left edge of the chart, and its width. */
  readonly left: number;
  readonly width: number;
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
};

const maxLines = 10;

/** All values at one time, greatest first. Follows the cursor on the side that has more room. */
function ChartTooltip({ times, series, whole, at, left, width, unit, hidden }: ChartTooltipProps) {
  const shown = series
    .map((one, index) => ({ name: one.name, value: one.values[at] ?? null, color: seriesToken(one, index) }))
    .filter(({ name, value }) => value !== null && !hidden.has(name))
    .sort((a, b) => (b.value as number) - (a.value as number));
  const side = left > width / 2 ? { right: width - left + 14 } : { left: left + 14 };
  return (
    <div className={css.tooltip} style={side} aria-hidden="true">
      <div className={css.tooltipTime}>{placeText({ times, whole }, at)}</div>
      {shown.slice(0, maxLines).map(({ name, value, color }) => (
        <div key={name} className={css.tooltipRow}>
          <span className={css.swatch} style={{ background: color }} />
          <span className="cut">{name}</span>
          <span className={css.tooltipValue}>{valueText(value, unit)}</span>
        </div>
      ))}
      {shown.length > maxLines && <div className={css.tooltipMore}>and {shown.length - maxLines} more</div>}
      {shown.length === 0 && <div className={css.tooltipMore}>no values</div>}
    </div>
  );
}
