import { Link } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { pipeAddress } from "../../lib/addresses.ts";
import { bytesText } from "../../lib/format.ts";
import { Meter } from "../../parts/meter.tsx";
import { Panel } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./system.module.css";
import { type System, shareTone } from "./system.ts";

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
        columns={columns}
        rows={workers}
        rowKey={({ pid }) => String(pid)}
      />
    </Panel>
  );
}

const columns: readonly Column<Worker>[] = [
  { key: "pipes", header: "Pipes", cell: ({ pipes }) => <PipeLinks pipes={[...new Set(pipes)]} /> },
  { key: "slots", header: "Slots", align: "end", cell: ({ slots, own }) => (own ? `${slots}, own` : slots) },
  { key: "memory", header: "Memory", cell: (worker) => <MemoryCell worker={worker} /> },
  { key: "load", header: "Load", align: "end", cell: ({ utilization }) => `${Math.round(utilization * 100)} %` },
  { key: "pid", header: "Process", align: "end", cell: ({ pid }) => pid },
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

function MemoryCell({ worker: { memoryBytes, memoryLimitBytes } }: { readonly worker: Worker }) {
  if (memoryBytes === undefined) return <>– of {bytesText(memoryLimitBytes)}</>;
  const share = memoryBytes / memoryLimitBytes;
  return (
    <div className={css.metered}>
      <span className="numeric">
        {bytesText(memoryBytes)} of {bytesText(memoryLimitBytes)}
      </span>
      <Meter label="Used share of the memory limit" value={share} tone={shareTone(share)} />
    </div>
  );
}
