/** From a chart to what uPlot draws: options and data. */
import uPlot from "uplot";
import { browserZone, zoneStore } from "../lib/zone.ts";
import { type ChartColors, colorPlace } from "./colors.ts";
import { axisText } from "./format.ts";
import { isWhole, placeAt, rightSeries } from "./places.ts";
import { barBases, barShare, stackEdges, stackOf } from "./stack.ts";
import type { ChartData, ChartDisplay, ChartSeries, Unit } from "./types.ts";

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
export function plotData(input: PlotInput): uPlot.AlignedData {
  const { times, series, display, hidden } = input;
  const seconds = times.map((time) => time / 1000);
  if (display === "line") return [seconds, ...series.map(({ values }) => drawn(input, values))] as uPlot.AlignedData;
  const edges = stackEdges(series, (index) => !hidden.has(series[index]?.name ?? "")).map((edge) => drawn(input, edge));
  return [seconds, ...edges.reverse()] as uPlot.AlignedData;
}

/** A line to a bucket that is not whole would show a fall that did not happen; a bar is only marked. */
function drawn({ display, whole }: PlotInput, values: readonly (number | null)[]): readonly (number | null)[] {
  if (display === "bar" || whole === undefined || whole.end - whole.first < 2) return values;
  return values.map((value, at) => (isWhole(whole, at) ? value : null));
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
      points: { size: 7, show: input.display !== "bar" },
      drag: { x: true, y: false, setScale: false },
      ...(syncKey === undefined ? {} : { sync: { key: syncKey } }),
    },
    scales: {
      x: { time: true, range: (_plot, min, max) => xRange(current(), min, max) },
      y: { range: yRange },
      right: { range: yRange },
    },
    axes: axesOf(input),
    series: [{}, ...seriesOptions(input)],
    bands: bandsOf(input),
    hooks: {
      draw: [(plot) => markParts(plot, current())],
      setCursor: [(plot) => events.onCursor(placeUnder(plot, current()))],
      setSelect: [(plot) => selected(plot, events)],
    },
  };
}

/** The place under the cursor as it is now; what is drawn follows later. */
export function placeUnder(plot: uPlot, input: PlotInput): number | undefined {
  const { left = -1 } = plot.cursor;
  return left < 0 ? undefined : placeAt(input, plot.posToVal(left, "x") * 1000);
}

/** Fades the buckets that are cut by the range or not finished, and draws their border. */
function markParts(plot: uPlot, { times, whole, bucketMs, colors }: PlotInput): void {
  if (whole === undefined || bucketMs === undefined) return;
  const { ctx, bbox } = plot;
  const x = (ms: number) =>
    Math.round(Math.max(bbox.left, Math.min(bbox.left + bbox.width, plot.valToPos(ms / 1000, "x", true))));
  const mark = (from: number, to: number, border: number) => {
    if (to - from < 3) return;
    ctx.globalAlpha = 0.6;
    ctx.fillStyle = colors.surface;
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.text;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(border, bbox.top);
    ctx.lineTo(border, bbox.top + bbox.height);
    ctx.stroke();
  };
  ctx.save();
  const begin = x(times[whole.first] ?? Number.POSITIVE_INFINITY);
  if (whole.first > 0) mark(bbox.left, begin, begin);
  const end = times[whole.end];
  if (end !== undefined) mark(x(end), bbox.left + bbox.width, x(end));
  ctx.restore();
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

const binarySteps = Array.from({ length: 60 }, (_, power) => 2 ** power);
const seconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const minutes = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200];
const timeSteps = [...seconds, ...minutes, ...binarySteps.map((days) => days * 86_400)];

/** Distances of ticks whose texts are exact, where the units are not decimal. */
const tickSteps: Partial<Record<Unit, number[]>> = {
  ...{ bytes: binarySteps, bytesPerSecond: binarySteps },
  ...{ seconds: timeSteps, milliseconds: timeSteps.map((step) => step * 1000) },
};

function axesOf(input: PlotInput): uPlot.Axis[] {
  const { unit, colors } = input;
  const font = `12px ${getComputedStyle(document.body).fontFamily || "sans-serif"}`;
  const shared = { stroke: colors.text, font, ticks: { show: false } };
  const values: uPlot.Axis = {
    ...shared,
    grid: { stroke: colors.grid, width: 1 },
    gap: 6,
    space: 36,
    ...(tickSteps[unit] === undefined ? {} : { incrs: tickSteps[unit] }),
    // Not narrower than half of a date below the first tick.
    size: (_plot, texts) => 14 + 7 * Math.max(4, ...(texts ?? []).map((text) => text.length)),
    values: (_plot, splits) => splits.map((value) => axisText(value, unit)),
  };
  const right: uPlot.Axis = { ...values, scale: "right", side: 1, grid: { show: false } };
  return [
    { ...shared, grid: { show: false }, gap: 6, size: 40, space: 70, values: timeTicks },
    values,
    ...(rightSeries(input).size > 0 ? [right] : []),
  ];
}

function seriesOptions(input: PlotInput): uPlot.Series[] {
  const { display, series, hidden, colors } = input;
  const right = rightSeries(input);
  const stacks = stacksOf(input);
  const lowest = new Set(stacks.map(([index]) => index));
  const options = series.map((one, index): uPlot.Series => {
    const stroke = colors.series[colorPlace(one, index)] as string;
    const fill = colors.fills[colorPlace(one, index)] as string;
    const shared = {
      label: one.name,
      stroke,
      show: !hidden.has(one.name),
      ...(right.has(index) ? { scale: "right", dash: [6, 3] } : {}),
    };
    const share = barShare(stacks, index);
    const pathsOfBars = uPlot.paths.bars?.({ size: [share, 100], align: 1, radius: 0, disp: endsOfBars });
    if (display === "bar") return { ...shared, width: 0, fill: stroke, points: { show: false }, paths: pathsOfBars };
    if (display === "stacked")
      return { ...shared, width: 1.5, fill: lowest.has(index) ? fill : undefined, points: { show: false } };
    return { ...shared, width: 1.75, ...(series.length === 1 ? { fill } : {}), points: pointsOf };
  });
  return display === "line" ? options : options.reverse();
}

type Values = (number | null)[];

/** A value between two gaps is not a line: it is drawn as a point. */
const pointsOf: uPlot.Series.Points = {
  size: 5,
  show: (plot, index) => lonely(plot, index).length > 0,
  filter: lonely,
};

function lonely(plot: uPlot, index: number): number[] {
  const values = plot.data[index] as Values;
  const isKnown = (at: number) => (values[at] ?? null) !== null;
  return values.flatMap((_, at) => (isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1) ? [at] : []));
}

const endsOfBars: uPlot.Series.BarsPathBuilderOpts["disp"] = {
  y0: { unit: 1, values: ({ data }, slot) => barBases(data.slice(1, slot) as Values[], data[slot] as Values) },
  y1: { unit: 1, values: ({ data }, slot) => data[slot] as Values },
};

/** Places of the visible series of each stack, the lowest first. */
function stacksOf({ series, hidden }: PlotInput): number[][] {
  const visible = series.map((_, index) => index).filter((index) => !hidden.has(series[index]?.name ?? ""));
  return [...Map.groupBy(visible, (index) => stackOf(series[index] as ChartSeries, index)).values()];
}

/** The area between two neighbours of a stack; the lowest one is filled down to the axis. */
function bandsOf(input: PlotInput): uPlot.Band[] {
  const { display, series, colors } = input;
  if (display !== "stacked") return [];
  const place = (index: number) => series.length - index;
  return stacksOf(input).flatMap((stack) =>
    stack.slice(1).map((index, at) => ({
      series: [place(index), place(stack[at] as number)] as [number, number],
      fill: colors.fills[colorPlace(series[index] as ChartSeries, index)] as string,
    })),
  );
}
