import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type Entry = OperationResult<"previewRetention">[number];

const columns: readonly Column<Entry>[] = [
  { key: "backup", header: "Backup", cell: ({ backupName }) => backupName },
  {
    key: "keep",
    header: "Now",
    cell: ({ keep }) => <Badge tone={keep ? "ok" : "warn"}>{keep ? "Kept" : "Removed"}</Badge>,
  },
  { key: "reason", header: "Reason", cell: ({ reason }) => reason },
];

/** What retention does with the backups that exist. */
export function RetentionPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("previewRetention", { params: { serviceId } }, { pace: "slow" });
  return (
    <Panel
      flush
      title="What retention does with the backups now"
      actions={<span className="muted">by the saved settings</span>}
    >
      <Answer query={query}>
        {(entries) => (
          <Table
            none={<EmptyState title="No backups yet">The schedule makes the first one.</EmptyState>}
            label="Retention"
            columns={columns}
            rows={entries}
            rowKey={({ backupId }) => backupId}
          />
        )}
      </Answer>
    </Panel>
  );
}
