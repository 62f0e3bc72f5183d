import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { pipeAddress, serviceAddress } from "../../lib/addresses.ts";
import { bytesText, countText } from "../../lib/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { Meter } from "../../parts/meter.tsx";
import { Bytes } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./system.module.css";
import { type System, shareTone } from "./system.ts";

type Loop = System["loops"][number];

/** The loops that bring services, pipes and backups into their desired state. Failing ones are first. */
export function LoopsPanel({ loops }: { readonly loops: readonly Loop[] }) {
  const rows = loops.toSorted((a, b) => b.consecutiveFailures - a.consecutiveFailures || a.name.localeCompare(b.name));
  return (
    <Panel flush title="Loops">
      <Table label="Loops" columns={loopColumns} rows={rows} rowKey={({ name }) => name} />
    </Panel>
  );
}

const loopColumns: readonly Column<Loop>[] = [
  { header: "Name", cell: ({ name }) => name },
  { header: "State", nowrap: true, cell: (loop) => <LoopState loop={loop} /> },
  { header: "Passes", align: "end", cell: ({ passes }) => countText(passes) },
  {
    header: "Last error",
    cell: ({ consecutiveFailures, lastError }) =>
      lastError === undefined ? (
        <span className="muted">none</span>
      ) : (
        <span className={consecutiveFailures > 0 ? css.error : "muted"}>{lastError}</span>
      ),
  },
];

function LoopState({ loop: { consecutiveFailures, running, passes } }: { readonly loop: Loop }) {
  if (consecutiveFailures > 0) {
    return (
      <Badge tone="bad" icon={CircleX}>
        {consecutiveFailures === 1 ? "Failed once" : `Failed ${countText(consecutiveFailures)} times in a row`}
      </Badge>
    );
  }
  if (passes === 0) {
    return (
      <Badge tone="neutral" icon={LoaderCircle}>
        {running ? "First pass" : "Not begun"}
      </Badge>
    );
  }
  return (
    <Badge tone="ok" icon={CircleCheck}>
      Well
    </Badge>
  );
}

type Engine = System["engines"][number];

/** Processes of services that run. */
export function EnginesPanel({ engines }: { readonly engines: readonly Engine[] }) {
  return (
    <Panel flush title="Engines">
      <Table
        none={<EmptyState title="No engine runs">Services that sleep or are stopped have no process.</EmptyState>}
        label="Engines"
        columns={engineColumns}
        rows={engines}
        rowKey={({ serviceId }) => serviceId}
      />
    </Panel>
  );
}

const engineColumns: readonly Column<Engine>[] = [
  { header: "Service", cell: ({ serviceId }) => <ServiceLink serviceId={serviceId} /> },
  {
    header: "Memory of the process",
    cell: (one) => <MemoryCell used={one.memoryBytes} limit={one.memoryLimitGb * 2 ** 30} />,
  },
  { header: "Process", align: "end", cell: ({ pid }) => pid },
  { header: "ClickHouse", nowrap: true, cell: ({ version }) => version },
];

function ServiceLink({ serviceId }: { readonly serviceId: string }) {
  const { data } = useOperation("listServices", {}, { pace: "slow" });
  const name = data?.find(({ id }) => id === serviceId)?.name ?? serviceId.slice(0, 8);
  return <Link {...serviceAddress(serviceId)}>{name}</Link>;
}

type MemoryProps = { readonly used: number | undefined; readonly limit: number };

function MemoryCell({ used, limit }: MemoryProps) {
  if (used === undefined) return <>– of {bytesText(limit)}</>;
  const share = used / limit;
  return (
    <div className={css.metered}>
      <span className="numeric">
        {bytesText(used)} of {bytesText(limit)}
      </span>
      <Meter label="Used share of the memory limit" value={share} tone={shareTone(share)} />
    </div>
  );
}

type Worker = System["workers"][number];

/** Processes that run pipes. */
export function WorkersPanel({ workers }: { readonly workers: readonly Worker[] }) {
  return (
    <Panel flush title="Pipe workers">
      <Table
        none={
          <EmptyState title="No worker runs">
            Pipes that are stopped, or wait for their service, have no process.
          </EmptyState>
        }
        label="Pipe workers"
        columns={workerColumns}
        rows={workers}
        rowKey={({ pid }) => String(pid)}
      />
    </Panel>
  );
}

const workerColumns: readonly Column<Worker>[] = [
  { header: "Pipes", cell: ({ pipes }) => <PipeLinks pipes={[...new Set(pipes)]} /> },
  { header: "Slots", align: "end", cell: ({ slots, own }) => (own ? `${slots}, own` : slots) },
  { header: "Memory", cell: (one) => <MemoryCell used={one.memoryBytes} limit={one.memoryLimitBytes} /> },
  { header: "Load", align: "end", cell: ({ utilization }) => `${Math.round(utilization * 100)} %` },
  { header: "Process", align: "end", cell: ({ pid }) => pid },
];

/** A worker may run hundreds of pipes. */
const shown = 3;

function PipeLinks({ pipes }: { readonly pipes: readonly string[] }) {
  const { data } = useOperation("listAllPipes", {}, { pace: "slow" });
  return (
    <div className="stack">
      {pipes.slice(0, shown).map((pipeId) => {
        const pipe = data?.pipes.find(({ id }) => id === pipeId);
        if (pipe === undefined) return <span key={pipeId}>{pipeId.slice(0, 8)}</span>;
        return (
          <Link key={pipeId} {...pipeAddress(pipe.serviceId, pipeId)}>
            {pipe.name}
          </Link>
        );
      })}
      {pipes.length > shown && <span className="muted">and {pipes.length - shown} more</span>}
    </div>
  );
}

type Service = OperationResult<"listServices">[number];

const diskColumns: readonly Column<Service>[] = [
  { header: "Service", cell: ({ id }) => <ServiceLink serviceId={id} /> },
  { header: "Disk", align: "end", cell: ({ diskUsedBytes }) => <Bytes value={diskUsedBytes} /> },
];

/** What takes the disk, by service. */
export function DiskPanel({ disk }: { readonly disk: System["disk"] }) {
  const query = useOperation("listServices", {}, { pace: "slow" });
  const text = `${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free`;
  return (
    <Panel flush title="Disk" actions={<span className="muted">{text}</span>}>
      <Answer query={query}>
        {(services) => {
          const sorted = services.toSorted((a, b) => (b.diskUsedBytes ?? -1) - (a.diskUsedBytes ?? -1));
          const none = <EmptyState title="No services yet" />;
          return <Table none={none} label="Disk by service" columns={diskColumns} rows={sorted} />;
        }}
      </Answer>
    </Panel>
  );
}
