import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type TableSummary = OperationResult<"listTables">["tables"][number];

const shownTables = 10;

const columns: readonly Column<TableSummary>[] = [
  { key: "name", header: "Table", cell: ({ database, name }) => <code>{`${database}.${name}`}</code> },
  { key: "rows", header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
  { key: "bytes", header: "Size", align: "end", cell: ({ bytes }) => <Bytes value={bytes} /> },
];

/** The largest tables, as they were last read: this wakes nothing. */
export function TablesPanel({ serviceId }: { readonly serviceId: string }) {
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
          return <Table label="Tables" columns={columns} rows={largest} rowKey={(t) => `${t.database}.${t.name}`} />;
        }}
      </Answer>
    </Panel>
  );
}

const systemDatabases = new Set(["system", "INFORMATION_SCHEMA", "information_schema"]);
