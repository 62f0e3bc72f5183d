import { useOperation } from "../../api/queries.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { Unit } from "../../charts/types.ts";
import { Panel } from "../../parts/page.tsx";
import { Answer } from "../../parts/states.tsx";

type SeriesName = "queriesPerSecond" | "failedQueriesPerSecond" | "querySeconds" | "memoryBytes" | "diskBytes";
type Line = { readonly name: string; readonly member: SeriesName };

const charts: readonly { readonly name: string; readonly unit: Unit; readonly lines: readonly Line[] }[] = [
  {
    name: "Queries",
    unit: "perSecond",
    lines: [
      { name: "queries", member: "queriesPerSecond" },
      { name: "failed", member: "failedQueriesPerSecond" },
    ],
  },
  { name: "Mean duration of queries", unit: "seconds", lines: [{ name: "duration", member: "querySeconds" }] },
  { name: "Memory of the engine", unit: "bytes", lines: [{ name: "memory", member: "memoryBytes" }] },
  { name: "Disk", unit: "bytes", lines: [{ name: "disk", member: "diskBytes" }] },
];

/** Numbers of the last hour. Gaps are times in which the service did not run. */
export function HistoryPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("getServiceMetrics", { params: { serviceId } }, { pace: "slow", keep: true });
  return (
    <Panel title="Last hour" actions={<span className="muted">includes the queries of pipes and charts</span>}>
      <Answer query={query}>
        {({ from, to, stepSeconds, series }) => {
          const first = Date.parse(from);
          const times = series.running.map((_, index) => first + index * stepSeconds * 1000);
          return (
            <div className="cells">
              {charts.map(({ name, unit, lines }) => (
                <TimeChart
                  key={name}
                  name={name}
                  unit={unit}
                  height={150}
                  times={times}
                  from={first}
                  to={Date.parse(to)}
                  syncKey={`service-${serviceId}`}
                  hideLegend={lines.length === 1}
                  series={lines.map((line) => ({ name: line.name, values: series[line.member] }))}
                />
              ))}
            </div>
          );
        }}
      </Answer>
    </Panel>
  );
}
