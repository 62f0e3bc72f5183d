/** From a chart to what uPlot draws: options and data. */
import uPlot from "uplot";
import { browserZone, zoneStore } from "../lib/zone.ts";
import type { ChartColors } from "./colors.ts";
import { axisText } from "./format.ts";
import { stackEdges } from "./stack.ts";
import type { ChartData, ChartDisplay, Unit } from "./types.ts";

export type PlotInput = ChartData & {
  readonly display: ChartDisplay;
  readonly unit: Unit;
  /** The range of the axis in ms; the first and last time without it. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly syncKey: string | undefined;
  readonly hidden: ReadonlySet<string>;
  readonly colors: ChartColors;
};

export type PlotEvents = {
  readonly onCursor: (index: number | undefined) => void;
  readonly onSelect: (fromMs: number, toMs: number) => void;
};

/** Edges of stacks are drawn from the topmost down, so that each covers the ones above it. */
export function plotData({ times, series, display, hidden }: PlotInput): uPlot.AlignedData {
  const seconds = times.map((time) => time / 1000);
  if (display === "line") return [seconds, ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const edges = stackEdges(series, (index) => !hidden.has(series[index]?.name ?? ""));
  return [seconds, ...edges.reverse()] as uPlot.AlignedData;
}

/** `current` is read again at each drawing, so that new data needs no new plot. */
export function plotOptions(
  current: () => PlotInput,
  events: PlotEvents,
  width: number,
  height: number,
): uPlot.Options {
  const input = current();
  const { syncKey } = input;
  const zone = zoneStore.get();
  return {
    width,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    ...(zone === browserZone ? {} : { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), zone) }),
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false },
      ...(syncKey === undefined ? {} : { sync: { key: syncKey } }),
    },
    scales: { x: { time: true, range: (_plot, min, max) => xRange(current(), min, max) }, y: { range: yRange } },
    axes: axesOf(input),
    series: [{}, ...seriesOptions(input)],
    bands: bandsOf(input),
    hooks: {
      setCursor: [(plot) => events.onCursor(plot.cursor.idx ?? undefined)],
      setSelect: [(plot) => selected(plot, events)],
    },
  };
}

function selected(plot: uPlot, { onSelect }: PlotEvents): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onSelect(Math.round(from * 1000), Math.round(to * 1000));
}

function xRange({ from, to }: PlotInput, min: number, max: number): uPlot.Range.MinMax {
  if (from !== undefined && to !== undefined) return [from / 1000, to / 1000];
  return min === max ? [min - 60, max + 60] : [min, max];
}

/** Counts and sizes begin at 0; an axis of equal values has room above them. */
function yRange(_plot: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  const [low, high] = [Math.min(0, min ?? 0), Math.max(0, max ?? 0)];
  if (low === high) return [0, 1];
  const room = (high - low) * 0.08;
  return [low < 0 ? low - room : 0, high > 0 || low === 0 ? high + room : 0];
}

/** By distance of the ticks in seconds: the text, and a second line where the year, the day or the minute changes. */
const timeTicks: (number | string | null)[][] = [
  [31_536_000, "{YYYY}", null, null, null, null, null, null, 1],
  [2_419_200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86_400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
];

/** Distances of the ticks of sizes: whole numbers of binary units. */
const byteSteps = Array.from({ length: 60 }, (_, power) => 2 ** power);

function axesOf({ unit, colors }: PlotInput): uPlot.Axis[] {
  const font = `12px ${getComputedStyle(document.body).fontFamily || "sans-serif"}`;
  const shared = { stroke: colors.text, font, ticks: { show: false } };
  return [
    { ...shared, grid: { show: false }, gap: 6, size: 40, space: 70, values: timeTicks },
    {
      ...shared,
      grid: { stroke: colors.grid, width: 1 },
      gap: 6,
      space: 36,
      ...(unit === "bytes" || unit === "bytesPerSecond" ? { incrs: byteSteps } : {}),
      // Not narrower than half of a date below the first tick.
      size: (_plot, values) => 14 + 7 * Math.max(4, ...(values ?? []).map((text) => text.length)),
      values: (_plot, splits) => splits.map((value) => axisText(value, unit)),
    },
  ];
}

function seriesOptions({ display, series, hidden, colors }: PlotInput): uPlot.Series[] {
  const lowest = series.findIndex(({ name }) => !hidden.has(name));
  const options = series.map(({ name }, index): uPlot.Series => {
    const stroke = colors.series[index % colors.series.length] as string;
    const fill = colors.fills[index % colors.fills.length] as string;
    const shared = { label: name, stroke, show: !hidden.has(name) };
    const pathsOfBars = uPlot.paths.bars?.({ size: [0.86, 48], align: 1, radius: 0 });
    if (display === "bar") return { ...shared, width: 0, fill: stroke, points: { show: false }, paths: pathsOfBars };
    if (display === "stacked")
      return { ...shared, width: 1.5, fill: index === lowest ? fill : undefined, points: { show: false } };
    return { ...shared, width: 1.75, ...(series.length === 1 ? { fill } : {}), points: pointsOf };
  });
  return display === "line" ? options : options.reverse();
}

/** A value between two gaps is no line: it is drawn as a point. */
const pointsOf: uPlot.Series.Points = {
  size: 5,
  show: (plot, index) => lonely(plot, index).length > 0,
  filter: lonely,
};

function lonely(plot: uPlot, index: number): number[] {
  const values = plot.data[index] as (number | null)[];
  const isKnown = (at: number) => (values[at] ?? null) !== null;
  return values.flatMap((_, at) => (isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1) ? [at] : []));
}

/** The area between two neighbours of a stack; the lowest one is filled down to the axis. */
function bandsOf({ display, series, hidden, colors }: PlotInput): uPlot.Band[] {
  if (display !== "stacked") return [];
  const visible = series.map((_, index) => index).filter((index) => !hidden.has(series[index]?.name ?? ""));
  const place = (index: number) => series.length - index;
  return visible.slice(1).map((index, at) => ({
    series: [place(index), place(visible[at] as number)] as [number, number],
    fill: colors.fills[index % colors.fills.length] as string,
  }));
}
