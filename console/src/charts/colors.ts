/** Colours of the theme for a canvas, which knows no custom properties. */
import { type RefObject, useEffect, useState } from "react";

export type ChartColors = {
  readonly series: readonly string[];
  readonly fills: readonly string[];
  readonly text: string;
  readonly grid: string;
};

const seriesCount = 8;

/** The colours as the element sees them now. */
export function readColors(within: Element): ChartColors {
  const probe = document.createElement("span");
  probe.hidden = true;
  within.append(probe);
  const resolve = (color: string) => {
    probe.style.color = color;
    return getComputedStyle(probe).color;
  };
  const tokens = Array.from({ length: seriesCount }, (_, index) => seriesToken(index));
  const colors = {
    series: tokens.map(resolve),
    fills: tokens.map((token) => resolve(`color-mix(in srgb, ${token} 22%, transparent)`)),
    text: resolve("var(--color-text-muted)"),
    grid: resolve("var(--color-border)"),
  };
  probe.remove();
  return colors;
}

/** Colours of series repeat after eight. */
export function seriesToken(index: number): string {
  return `var(--series-${(index % seriesCount) + 1})`;
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
