import { call, type OperationName } from "../api/client.ts";
import { queryClient, refetch, useOperation } from "../api/queries.ts";
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
    const bodyOf = (wake: "auto" | "never") => requestOf(chart, bounds, zoneStore.get(), wake);
    const answer = await call("queryChart", { params: {}, body: bodyOf("auto") });
    // The service may sleep again before it is asked once more.
    queryClient.setQueryData(["queryChart", bodyOf("never")], answer);
    await refetch(...reads, "listServices");
  };
  return (
    <ServiceAway serviceId={source?.serviceId} reads={reads} keptAt={keptAt} onWake={ask} wakeLabel="Wake and ask" />
  );
}
