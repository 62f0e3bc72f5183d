import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { HistoryChart } from "../../charts/history-chart.tsx";
import type { Unit } from "../../charts/types.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Panel, Tile, Tiles } from "../../parts/page.tsx";
import { pipeSummary } from "../../parts/pipe-summary.tsx";
import { Elapsed, RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import type { Service } from "./service.ts";
import { StatePanel } from "./state-panel.tsx";
import { TablesPanel } from "./tables-panel.tsx";

const route = getRouteApi("/services/$serviceId");

/** Is this database well, and what is in it? Nothing here wakes it. */
export function ServiceOverviewTab() {
  const { serviceId } = route.useParams();
  const query = useOperation("getService", { params: { serviceId } });
  return (
    <Answer query={query}>
      {(service) => (
        <>
          {service.state === "idle" && (
            <Note>
              Asleep for <Elapsed since={service.stateChangedAt} />. A query wakes it in about 0.2 s, and so does the
              button Wake; looking at this page does not.
            </Note>
          )}
          <Numbers service={service} />
          <StatePanel serviceId={serviceId} />
          <HistoryPanel serviceId={serviceId} />
          <div className="cells">
            <TablesPanel serviceId={serviceId} />
            <ServicePipes serviceId={serviceId} />
          </div>
        </>
      )}
    </Answer>
  );
}

function Numbers({ service }: { readonly service: Service }) {
  const { lastBackup, idle, pipes } = service;
  const result = lastBackup?.status === "error" ? "it failed" : `check: ${lastBackup?.verification}`;
  const quota = service.diskGb === undefined ? "no quota" : `of ${service.diskGb} GiB`;
  return (
    <Tiles>
      <Tile label="Rows" note="as the engine reported last">
        <Count value={service.rows} />
      </Tile>
      <Tile label="Disk" note={quota}>
        <Bytes value={service.diskUsedBytes} />
      </Tile>
      <Tile label="Pipes" note={`${pipes.total} in all`}>
        {pipes.running} running
      </Tile>
      <Tile
        label="Last query"
        note={
          idle.idleAt === undefined ? undefined : (
            <>
              sleeps <RelativeTime at={idle.idleAt} /> without another one
            </>
          )
        }
      >
        <RelativeTime at={idle.lastQueryAt} none="none yet" />
      </Tile>
      <Tile label="Last backup" note={lastBackup === undefined ? "the schedule makes the first one" : result}>
        <RelativeTime at={lastBackup?.finishedAt ?? lastBackup?.startedAt} none="none yet" />
      </Tile>
    </Tiles>
  );
}

const columns = [pipeSummary.name, pipeSummary.state, pipeSummary.rate, pipeSummary.lag];

/** The pipes that fill this service. */
function ServicePipes({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listAllPipes", { query: { serviceId, limit: 100 } });
  const add = (
    <ButtonLink to="/new-pipe" needs="developer" small icon={Plus}>
      New pipe
    </ButtonLink>
  );
  return (
    <Panel flush title="Pipes" actions={add}>
      <Answer query={query}>
        {({ pipes }) => (
          <Table
            none={
              <EmptyState title="No pipes">
                A pipe loads files, topics, streams, tables or what applications send into this service.
              </EmptyState>
            }
            label="Pipes"
            columns={columns}
            rows={pipes}
            rowKey={({ id }) => id}
          />
        )}
      </Answer>
    </Panel>
  );
}

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
  { name: "Memory of queries and caches", unit: "bytes", lines: [{ name: "memory", member: "memoryBytes" }] },
  { name: "Disk", unit: "bytes", lines: [{ name: "disk", member: "diskBytes" }] },
];

/** Numbers of the last hour. Gaps are times in which the service did not run. */
function HistoryPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("getServiceMetrics", { params: { serviceId } }, { pace: "slow", keep: true });
  return (
    <Panel title="Last hour" actions={<span className="muted">pipes, charts and Millrace (2 a second) included</span>}>
      <Answer query={query}>
        {(history) => (
          <div className="cells">
            {charts.map(({ name, unit, lines }) => (
              <HistoryChart
                key={name}
                {...{ name, unit, history }}
                height={150}
                syncKey={`service-${serviceId}`}
                hideLegend={lines.length === 1}
                lines={lines.map((line) => ({ name: line.name, values: history.series[line.member] }))}
              />
            ))}
          </div>
        )}
      </Answer>
      <p className="muted">
        Memory is what queries and caches take. The process of the engine takes more: System shows it beside its limit.
      </p>
    </Panel>
  );
}
