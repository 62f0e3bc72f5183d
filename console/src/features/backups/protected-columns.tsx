/** The columns of the list of services with their backups. */
import { Link } from "@tanstack/react-router";
import { counted } from "../../lib/format.ts";
import { Bytes } from "../../parts/numbers.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { type Column, mainLinkClass } from "../../parts/table.tsx";
import { BackUpButton } from "./back-up-button.tsx";
import { chainsOf } from "./backup.ts";
import { Chain } from "./chain.tsx";
import { type Protected, storedOf } from "./list-search.ts";
import { ProofBadge } from "./proof-badge.tsx";

export const protectedColumns: readonly Column<Protected>[] = [
  { key: "name", header: "Service", cell: (row) => <NameCell row={row} /> },
  { key: "newest", header: "Newest backup", nowrap: true, cell: (row) => <NewestCell row={row} /> },
  { key: "proof", header: "Proof", nowrap: true, cell: (row) => <ProofCell row={row} /> },
  { key: "chain", header: "Newest chain", cell: ({ backups }) => <ChainCell backups={backups} /> },
  { key: "stored", header: "Stored", align: "end", cell: ({ backups }) => <StoredCell backups={backups} /> },
  {
    key: "actions",
    header: "",
    align: "end",
    cell: ({ service, backups }) =>
      service !== undefined && (
        <BackUpButton small service={service} isRunning={backups[0]?.status === "in_progress"} />
      ),
  },
];

type RowProps = { readonly row: Protected };
type BackupsProps = Pick<Protected, "backups">;

function NameCell({ row: { serviceId, service } }: RowProps) {
  return (
    <div className="stack">
      <Link to="/backups/$serviceId" params={{ serviceId }} className={mainLinkClass}>
        {service?.name ?? serviceId.slice(0, 8)}
      </Link>
      {service === undefined && <span className="muted">service deleted</span>}
    </div>
  );
}

function NewestCell({ row: { serviceId, backups } }: RowProps) {
  const [newest] = backups;
  if (newest === undefined) return <span className="muted">none yet</span>;
  return (
    <div className="stack">
      <Link to="/backups/$serviceId/$backupId" params={{ serviceId, backupId: newest.id }} className={mainLinkClass}>
        <RelativeTime at={newest.startedAt} />
      </Link>
      <span className="muted">
        {newest.type}, <Bytes value={newest.status === "done" ? newest.sizeInBytes : undefined} />
      </span>
    </div>
  );
}

function ProofCell({ row: { service, backups } }: RowProps) {
  const [newest] = backups;
  if (newest === undefined) return <>–</>;
  const last = service?.lastBackup?.id === newest.id ? service.lastBackup : undefined;
  return (
    <div className="stack">
      <ProofBadge backup={newest} />
      {last?.verifiedAt !== undefined && (
        <span className="muted">
          read back <RelativeTime at={last.verifiedAt} />
        </span>
      )}
      {last?.deepVerifiedAt !== undefined && (
        <span className="muted">
          trial restore <RelativeTime at={last.deepVerifiedAt} />
        </span>
      )}
    </div>
  );
}

function ChainCell({ backups }: BackupsProps) {
  const [chain] = chainsOf(backups);
  return chain === undefined ? <>–</> : <Chain chain={chain} />;
}

function StoredCell({ backups }: BackupsProps) {
  const { count, bytes } = storedOf(backups);
  if (count === 0) return <>–</>;
  return (
    <>
      <Bytes value={bytes} />
      <div className="muted">{counted(count, "backup")}</div>
    </>
  );
}
