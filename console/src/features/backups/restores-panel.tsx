import { Link } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import type { Restore } from "./backup.ts";
import { targetText } from "./restore-text.ts";

const columns: readonly Column<Restore>[] = [
  {
    key: "what",
    header: "Restored",
    cell: (restore) => (
      <Link
        to="/backups/$serviceId/restores/$restoreId"
        params={{ serviceId: restore.serviceId, restoreId: restore.id }}
        className={mainLinkClass}
      >
        {targetText(restore)}
      </Link>
    ),
  },
  { key: "status", header: "State", nowrap: true, cell: ({ status }) => <StateBadge state={status} /> },
  { key: "begun", header: "Begun", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

/** Restores into the service; nothing where there were none. */
export function RestoresPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listRestores", { params: { serviceId } });
  if (query.data?.length === 0) return null;
  return (
    <Panel flush title="Restores into this service">
      <Answer query={query}>
        {(restores) => <Table label="Restores" columns={columns} rows={restores} rowKey={({ id }) => id} />}
      </Answer>
    </Panel>
  );
}
