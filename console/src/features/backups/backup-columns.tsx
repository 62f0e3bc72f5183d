/** The columns of the list of a service's backups. */
import { Link } from "@tanstack/react-router";
import type { OperationResult } from "../../api/client.ts";
import { Bytes, Duration } from "../../parts/numbers.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { type Column, mainLinkClass } from "../../parts/table.tsx";
import { type Backup, titleOf } from "./backup.ts";
import { ProofBadge } from "./proof-badge.tsx";

type Retention = OperationResult<"previewRetention">;

/** `retention`: what it does with each backup now; empty until it is known. */
export function backupColumns(retention: Retention): readonly Column<Backup>[] {
  const verdicts = new Map(retention.map((verdict) => [verdict.backupId, verdict]));
  return [
    { key: "name", header: "Started", nowrap: true, cell: (backup) => <NameCell backup={backup} /> },
    { key: "proof", header: "Proof", nowrap: true, cell: (backup) => <ProofBadge backup={backup} /> },
    { key: "type", header: "Type", cell: ({ type }) => type },
    { key: "size", header: "Size", align: "end", cell: (backup) => <SizeCell backup={backup} /> },
    {
      key: "duration",
      header: "Duration",
      align: "end",
      cell: ({ durationInSeconds }) => <Duration value={durationInSeconds} />,
    },
    { key: "retention", header: "Retention", cell: ({ id }) => <RetentionCell verdict={verdicts.get(id)} /> },
  ];
}

function NameCell({ backup }: { readonly backup: Backup }) {
  return (
    <div className="stack">
      <Link
        to="/backups/$serviceId/$backupId"
        params={{ serviceId: backup.serviceId, backupId: backup.id }}
        className={mainLinkClass}
      >
        {titleOf(backup)}
      </Link>
      <span className="muted">
        <RelativeTime at={backup.startedAt} />
      </span>
    </div>
  );
}

function SizeCell({ backup: { status, sizeInBytes } }: { readonly backup: Backup }) {
  return <Bytes value={status === "done" ? sizeInBytes : undefined} />;
}

function RetentionCell({ verdict }: { readonly verdict: Retention[number] | undefined }) {
  if (verdict === undefined) return <>–</>;
  return (
    <span className="muted">
      {verdict.keep ? "kept" : "removed next"}: {verdict.reason}
    </span>
  );
}
