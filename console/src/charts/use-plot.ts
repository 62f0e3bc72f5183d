/** The life of a uPlot: created for a structure, fed with data, resized with its box, destroyed with the component. */
import { type RefObject, useEffect, useRef } from "react";
import uPlot from "uplot";
import { rightSeries } from "./places.ts";
import { type PlotEvents, type PlotInput, plotData, plotOptions } from "./plot-options.ts";
import { stackOf } from "./stack.ts";

/** A new plot is made only for other series, another look or another theme; all else is an update of its data. */
function structureOf(input: PlotInput): string {
  const { series, display, unit, syncKey, hidden, colors } = input;
  const names = series.map((one, index) => [one.name, one.isRest, stackOf(one, index)]);
  return JSON.stringify([names, display, unit, syncKey, [...hidden], [...rightSeries(input)], colors]);
}

export function usePlot(
  box: RefObject<HTMLDivElement | null>,
  input: PlotInput | undefined,
  events: PlotEvents,
): RefObject<uPlot | undefined> {
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ input, events });
  latest.current = { input, events };
  const structure = input === undefined ? undefined : structureOf(input);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the structure stands for everything that a new plot needs.
  useEffect(() => {
    const element = box.current;
    if (element === null || structure === undefined) return;
    const current = () => latest.current.input as PlotInput;
    const forwarded: PlotEvents = {
      onCursor: (index) => latest.current.events.onCursor(index),
      onSelect: (from, to) => latest.current.events.onSelect(from, to),
    };
    const { clientWidth, clientHeight } = element;
    const made = new uPlot(plotOptions(current, forwarded, clientWidth, clientHeight), plotData(current()), element);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width > 0 && (width !== made.width || height !== made.height)) made.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [structure]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the members of the input that are data.
  useEffect(() => {
    if (input !== undefined && plot.current !== undefined) plot.current.setData(plotData(input));
  }, [input?.times, input?.series, input?.from, input?.to]);
  return plot;
}
