/** Colours of the theme for a canvas, which knows no custom properties. */
import { type RefObject, useEffect, useState } from "react";
import type { ChartSeries } from "./types.ts";

export type ChartColors = {
  readonly series: readonly string[];
  readonly fills: readonly string[];
  readonly text: string;
  readonly surface: string;
  readonly grid: string;
};

/** More cannot be told apart: later series share one colour with the rest. */
export const differentColors = 20;

/** The colours as the element sees them now. */
export function readColors(within: Element): ChartColors {
  const tokens = Array.from({ length: differentColors + 1 }, (_, place) => tokenAt(place));
  const fills = tokens.map((token) => `color-mix(in srgb, ${token} 22%, transparent)`);
  const others = ["var(--color-surface)", "var(--color-text-muted)", "var(--color-border)"];
  const probes = document.createElement("span");
  probes.hidden = true;
  // All are written before one is read: the browser computes styles again for the first reading after a change.
  for (const color of [...tokens, ...fills, ...others])
    probes.appendChild(document.createElement("span")).style.color = color;
  within.append(probes);
  const colors = Array.from(probes.children, (probe) => getComputedStyle(probe).color);
  probes.remove();
  const [surface, text, grid] = colors.slice(-others.length) as [string, string, string];
  const series = colors.slice(0, tokens.length);
  return { series, fills: colors.slice(tokens.length, -others.length), surface, text, grid };
}

/** The place of the colour of a series. */
export function colorPlace({ isRest }: Pick<ChartSeries, "isRest">, index: number): number {
  return isRest === true ? differentColors : Math.min(index, differentColors);
}

export function seriesToken(series: Pick<ChartSeries, "isRest">, index: number): string {
  return tokenAt(colorPlace(series, index));
}

function tokenAt(place: number): string {
  return place < differentColors ? `var(--series-${place + 1})` : "var(--series-rest)";
}

/** Read again whenever the theme changes. Undefined before the element exists. */
export function useChartColors(element: RefObject<Element | null>): ChartColors | undefined {
  const [colors, setColors] = useState<ChartColors>();
  useEffect(() => {
    const read = () => element.current !== null && setColors(readColors(element.current));
    read();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", read);
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, { attributes: true });
    return () => {
      scheme.removeEventListener("change", read);
      observer.disconnect();
    };
  }, [element]);
  return colors;
}
