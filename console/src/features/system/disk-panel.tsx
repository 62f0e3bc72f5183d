import { Link } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { bytesText } from "../../lib/format.ts";
import { Bytes } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import type { System } from "./system.ts";

type Row = { readonly id: string; readonly name: string; readonly bytes: number | undefined };

const columns: readonly Column<Row>[] = [
  {
    key: "service",
    header: "Service",
    cell: ({ id, name }) => (
      <Link {...serviceAddress(id)} className={mainLinkClass}>
        {name}
      </Link>
    ),
  },
  { key: "bytes", header: "Disk", align: "end", cell: ({ bytes }) => <Bytes value={bytes} /> },
];

/** What takes the disk, by service. */
export function DiskPanel({ disk }: { readonly disk: System["disk"] }) {
  const query = useOperation("listServices", {}, { pace: "slow" });
  const text = `${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free`;
  return (
    <Panel flush title="Disk" actions={<span className="muted">{text}</span>}>
      <Answer query={query}>
        {(services) => {
          const rows = services.map(({ id, name, diskUsedBytes }) => ({ id, name, bytes: diskUsedBytes }));
          if (rows.length === 0) return <EmptyState title="No services yet" />;
          const sorted = rows.toSorted((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1));
          return <Table label="Disk by service" columns={columns} rows={sorted} rowKey={({ id }) => id} />;
        }}
      </Answer>
    </Panel>
  );
}
