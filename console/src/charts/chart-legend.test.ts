import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { ChartLegend, type ChartLegendProps } from "./chart-legend.tsx";

test("values that stand below each other are those of one time, also where a series has ended before", () => {
  const series = [
    { name: "ended", values: [1, 2, null] },
    { name: "goes on", values: [null, 5, 6] },
  ];
  const chart = { times: [0, 1, 2], series, unit: "number", sums: false } as const;
  const legend: ChartLegendProps = { ...chart, hidden: new Set(), right: new Set(), at: undefined, onHide: () => {} };
  const texts = renderToStaticMarkup(createElement(ChartLegend, legend)).match(/(?<=>)[^<]+/g);
  expect(texts).toEqual(["ended", "no value", "goes on", "6"]);
});
