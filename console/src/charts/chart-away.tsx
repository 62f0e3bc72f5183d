import { call, type OperationName } from "../api/client.ts";
import { refetch, useOperation } from "../api/queries.ts";
import { zoneStore } from "../lib/zone.ts";
import { ServiceAway } from "../parts/service-away.tsx";
import { type ChartDefinition, requestOf } from "./definition.ts";
import type { Bounds } from "./time-range.ts";

const reads: readonly OperationName[] = ["queryChart", "searchRows", "listFields", "listFieldValues"];

type ChartAwayProps = {
  readonly chart: ChartDefinition;
  readonly bounds: Bounds;
  readonly keptAt?: string | undefined;
};

/** Why a chart has no new answer, and the button that asks its service all the same. */
export function ChartAway({ chart, bounds, keptAt }: ChartAwayProps) {
  const sources = useOperation("listSources", { params: {} }, { pace: "slow" });
  const source = sources.data?.data.find(({ id }) => id === chart.sourceId);
  const ask = async () => {
    await call("queryChart", { params: {}, body: requestOf(chart, bounds, zoneStore.get(), "auto") });
    await refetch(...reads, "listServices");
  };
  return (
    <ServiceAway serviceId={source?.serviceId} reads={reads} keptAt={keptAt} onWake={ask} wakeLabel="Wake and ask" />
  );
}
