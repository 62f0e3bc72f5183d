import { Link } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { bytesText } from "../../lib/format.ts";
import { Meter } from "../../parts/meter.tsx";
import { Panel } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./system.module.css";
import { type System, shareTone } from "./system.ts";

type Engine = System["engines"][number];

/** Processes of services that run. */
export function EnginesPanel({ engines }: { readonly engines: readonly Engine[] }) {
  return (
    <Panel flush title="Engines">
      <Table
        none={<EmptyState title="No engine runs">Services that sleep or are stopped have no process.</EmptyState>}
        label="Engines"
        columns={columns}
        rows={engines}
        rowKey={({ serviceId }) => serviceId}
      />
    </Panel>
  );
}

const columns: readonly Column<Engine>[] = [
  { key: "service", header: "Service", cell: ({ serviceId }) => <ServiceLink serviceId={serviceId} /> },
  { key: "memory", header: "Memory of the process", cell: (engine) => <MemoryCell engine={engine} /> },
  { key: "pid", header: "Process", align: "end", cell: ({ pid }) => pid },
  { key: "version", header: "ClickHouse", nowrap: true, cell: ({ version }) => version },
];

function ServiceLink({ serviceId }: { readonly serviceId: string }) {
  const { data } = useOperation("listServices", {}, { pace: "slow" });
  const name = data?.find(({ id }) => id === serviceId)?.name ?? serviceId.slice(0, 8);
  return <Link {...serviceAddress(serviceId)}>{name}</Link>;
}

function MemoryCell({ engine: { memoryBytes, memoryLimitGb } }: { readonly engine: Engine }) {
  const limit = memoryLimitGb * 2 ** 30;
  if (memoryBytes === undefined) return <>– of {memoryLimitGb} GiB</>;
  const share = memoryBytes / limit;
  return (
    <div className={css.metered}>
      <span className="numeric">
        {bytesText(memoryBytes)} of {memoryLimitGb} GiB
      </span>
      <Meter label="Used share of the memory limit" value={share} tone={shareTone(share)} />
    </div>
  );
}
