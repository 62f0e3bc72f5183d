/** Where the rows of a source are in time. */
import { call } from "../../api/client.ts";
import { newChart, requestOf, stepOf } from "../../charts/definition.ts";
import type { Bounds } from "../../charts/time-range.ts";
import type { ChartAnswer } from "../../charts/use-chart.ts";
import { zoneStore } from "../../lib/zone.ts";

const earliest = Date.UTC(1980, 0);

/** True if a chart has nothing to show: no row, or zeros that fill gaps. */
export function isEmpty({ data }: Pick<ChartAnswer, "data">): boolean {
  return data.every((row) => Object.entries(row).every(([name, value]) => !name.endsWith(".data") || !Number(value)));
}

/** From the first bucket with rows to the end of the last one; undefined without rows. */
export function extentOf({ data, meta }: Pick<ChartAnswer, "data" | "meta">): Bounds | undefined {
  const filled = data.filter((row) => Number(row["series_0.data"]) > 0).map(({ ts_bucket }) => ts_bucket);
  if (filled.length === 0) return undefined;
  return { from: Math.min(...filled), to: Math.max(...filled) + meta.bucketMs - 1 };
}

/** Found by months first, then to a part of that. Wakes nothing. */
export async function rangeOfData(sourceId: string, now: number): Promise<Bounds | undefined> {
  const count = async (bounds: Bounds, granularity: "30d" | ReturnType<typeof stepOf>) => {
    const request = requestOf({ ...newChart(sourceId) }, bounds, zoneStore.get(), "never");
    return extentOf(await call("queryChart", { params: {}, body: { ...request, granularity, fill: "none" } }));
  };
  const coarse = await count({ from: earliest, to: now }, "30d");
  if (coarse === undefined) return undefined;
  return (await count(coarse, stepOf(coarse.to - coarse.from))) ?? coarse;
}
