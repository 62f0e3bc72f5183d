import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { HistoryChart } from "../../charts/history-chart.tsx";
import type { Unit } from "../../charts/types.ts";
import { durationText } from "../../lib/format.ts";
import { timeText } from "../../lib/zone.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Panel, Tile, Tiles } from "../../parts/page.tsx";
import { pipeSummary } from "../../parts/pipe-summary.tsx";
import { Elapsed, RelativeTime, useServerNow } from "../../parts/relative-time.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { ranMinutes, stepSeconds } from "./ran-minutes.ts";
import type { Service } from "./service.ts";
import css from "./services.module.css";

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
          <StatePanel service={service} />
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

const pipeColumns = [pipeSummary.name, pipeSummary.state, pipeSummary.rate, pipeSummary.lag];

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
            columns={pipeColumns}
            rows={pipes}
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

/** Minutes of one block of the strip. */
const blockSteps = 15;
const blockMs = blockSteps * stepSeconds * 1000;

/** When the service ran during the last day, in quarters of an hour. */
function StatePanel({ service }: { readonly service: Service }) {
  const now = useServerNow();
  // The same for a quarter of an hour, so that equal questions are equal; a day and what is not over of it.
  const to = Math.ceil(now / blockMs) * blockMs;
  const from = to - blockMs - 24 * 3_600_000;
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), step: stepSeconds };
  const input = { params: { serviceId: service.id }, query: range };
  const query = useOperation("getServiceMetrics", input, { pace: "slow", keep: true });
  const created = Date.parse(service.createdAt);
  return (
    <Panel title="Last 24 hours">
      <Answer query={query} loading={<Skeleton lines={1} />}>
        {({ series, from: first }) => (
          <Strip ran={ranMinutes(series.running, { first: Date.parse(first), created, now })} />
        )}
      </Answer>
    </Panel>
  );
}

type StripProps = { readonly ran: ReturnType<typeof ranMinutes> };

function Strip({ ran }: StripProps) {
  const minutes = sumOf(ran);
  // A shorter time is not measured.
  const time = minutes < 1 ? "less than a minute" : durationText(minutes * stepSeconds);
  const label = `Ran for ${time} of the last 24 hours`;
  const blocks = Array.from({ length: Math.ceil(ran.length / blockSteps) }, (_, index) =>
    ran.slice(index * blockSteps, (index + 1) * blockSteps),
  );
  return (
    <figure aria-label={label}>
      <div className={css.strip}>
        {blocks.map((block) => {
          const [time, inBlock] = [block[0]?.at ?? 0, sumOf(block)];
          return (
            <span
              key={time}
              className={classOf(inBlock)}
              title={`${timeText(time)}: ran for ${Math.round(inBlock)} min`}
            />
          );
        })}
      </div>
      <figcaption className={`muted ${css.ends}`}>
        <span>24 h ago</span>
        <span>{label}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function sumOf(ran: StripProps["ran"]): number {
  return ran.reduce((sum, { minutes }) => sum + minutes, 0);
}

function classOf(minutes: number): string | undefined {
  if (minutes < 0.5) return undefined;
  return minutes > blockSteps * 0.9 ? css.ran : css.ranPartly;
}

type TableSummary = OperationResult<"listTables">["tables"][number];

const shownTables = 10;

const tableColumns: readonly Column<TableSummary>[] = [
  { header: "Table", cell: ({ database, name }) => <code>{`${database}.${name}`}</code> },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
  { header: "Size", align: "end", cell: ({ bytes }) => <Bytes value={bytes} /> },
];

/** The largest tables, as they were last read: this wakes nothing. */
function TablesPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listTables", { params: { serviceId } }, { pace: "slow" });
  return (
    <Panel
      flush
      title="Tables"
      actions={
        query.data?.asOf !== undefined && (
          <span className="muted">
            as of <RelativeTime at={query.data.asOf} />
          </span>
        )
      }
    >
      <Answer query={query}>
        {({ tables, asOf }) => {
          if (asOf === undefined) return <EmptyState title="Not known yet">A service that runs is read.</EmptyState>;
          const own = tables.filter(({ database }) => !systemDatabases.has(database));
          const largest = own.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0)).slice(0, shownTables);
          if (largest.length === 0) {
            return <EmptyState title="No tables">A pipe creates its table, or a client with CREATE TABLE.</EmptyState>;
          }
          return (
            <>
              <Table label="Tables" columns={tableColumns} rows={largest} rowKey={(t) => `${t.database}.${t.name}`} />
              {own.length > largest.length && (
                <p className="more muted">
                  The {largest.length} largest of {own.length}
                </p>
              )}
            </>
          );
        }}
      </Answer>
    </Panel>
  );
}

const systemDatabases = new Set(["system", "INFORMATION_SCHEMA", "information_schema"]);
