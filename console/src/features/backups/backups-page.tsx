import { getRouteApi, Link } from "@tanstack/react-router";
import { Archive, Bell, FolderSearch } from "lucide-react";
import { useState } from "react";
import { useChange, useOperation } from "../../api/queries.ts";
import { newStateAlertAddress } from "../../lib/addresses.ts";
import { bytesText, counted } from "../../lib/format.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { Note } from "../../parts/note.tsx";
import { Bytes } from "../../parts/numbers.tsx";
import { Page, Panel, Tile, Tiles } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { toastError } from "../../parts/toast.tsx";
import { BackUpButton } from "./back-up-button.tsx";
import { chainsOf, paceOf } from "./backup.ts";
import { Chain, ProofBadge } from "./chain.tsx";
import { newestProof, type Protected, protectedServices, shownProtected, storedOf } from "./list-search.ts";

const route = getRouteApi("/backups");

/** Whether each service can be got back. */
export function BackupsPage() {
  const services = useOperation("listServices", {});
  const backups = useOperation("listAllBackups", {}, { pace: paceOf });
  const loading = (
    <Panel flush>
      <Skeleton lines={6} />
    </Panel>
  );
  return (
    <Page title="Backups" actions={<Actions />}>
      <Answer query={services} loading={loading}>
        {(existing) => (
          <Answer query={backups} loading={loading}>
            {(rows) => <Overview all={protectedServices(existing, rows)} />}
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

function Actions() {
  const address = newStateAlertAddress("backup_age_hours", undefined, "A good backup is missing");
  return (
    <>
      <ButtonLink {...address} needs="developer" icon={Bell}>
        Alert me
      </ButtonLink>
      <RescanButton />
    </>
  );
}

function Overview({ all }: { readonly all: readonly Protected[] }) {
  const { search, change, field } = useFilters(route);
  if (all.length === 0) return <NoServices />;
  const shown = shownProtected(all, search);
  const words = [...new Set(all.map(newestProof))].toSorted();
  return (
    <>
      <Numbers all={all} />
      <div className="row">
        <SearchInput label="Filter services" placeholder="Name or id of a service" {...field("q")} />
        <InlineSelect label="Proof of the newest backup" {...field("proof")} all="Any proof" options={words} />
      </div>
      <Panel flush>
        <Table
          none={<NoMatch what="service" onAll={() => change({ q: "", proof: "" })} />}
          label="Services and their backups"
          columns={protectedColumns}
          rows={shown}
          rowKey={keyOf}
        />
      </Panel>
    </>
  );
}

function keyOf({ serviceId }: Protected): string {
  return serviceId;
}

function Numbers({ all }: { readonly all: readonly Protected[] }) {
  const existing = all.filter(({ service }) => service !== undefined);
  const backups = all.flatMap((one) => one.backups);
  const proven = existing.filter((one) => newestProof(one) === "Verified").length;
  const damaged = backups.filter(({ verification }) => verification === "failed").length;
  const failed = backups.filter(({ status }) => status === "error").length;
  const stored = storedOf(backups);
  return (
    <Tiles>
      <Tile label="Verified services" note="every file of the newest backup was read back">
        {proven} of {existing.length}
      </Tile>
      <Tile label="Damaged backups" note="restore only by force">
        <span className="toned" data-tone={damaged > 0 ? "bad" : undefined}>
          {damaged}
        </span>
      </Tile>
      <Tile label="Failed attempts" note="their files are removed">
        {failed}
      </Tile>
      <Tile label="Stored" note={`in ${counted(stored.count, "backup")}`}>
        {bytesText(stored.bytes)}
      </Tile>
    </Tiles>
  );
}

function NoServices() {
  return (
    <Panel>
      <EmptyState icon={Archive} title="Nothing to back up yet">
        Every service is backed up once a day, read back and restored as a trial. Begin with a{" "}
        <Link to="/services">service</Link>. If there are backups of another installation at the backup location, “Look
        for backups” finds them.
      </EmptyState>
    </Panel>
  );
}

/** Looks for backups that exist at the backup location and are not listed. */
function RescanButton() {
  const [open, setOpen] = useState(false);
  const change = useChange("rescanBackups", {
    changes: ["listAllBackups", "listBackups", "listServices"],
    onDone: () => setOpen(true),
  });
  const { data } = change;
  return (
    <>
      <Button
        needs="admin"
        icon={FolderSearch}
        busy={change.isPending}
        onClick={() => change.mutate({}, { onError: toastError })}
      >
        Look for backups
      </Button>
      {open && data !== undefined && (
        <Dialog
          open
          title="Backups at the backup location"
          onClose={() => setOpen(false)}
          actions={<Button onClick={() => setOpen(false)}>Close</Button>}
        >
          <p>
            {data.adopted === 0 ? "No backup was missing from the list." : `${counted(data.adopted, "backup")} added.`}{" "}
            {data.removed > 0 && `Leftovers of ${data.removed} interrupted backups were removed.`}
          </p>
          {data.unreadable.length > 0 && (
            <Note tone="warn">
              These could not be read: {data.unreadable.join("; ")}. Encrypted backups need the key of the server that
              made them.
            </Note>
          )}
        </Dialog>
      )}
    </>
  );
}

const protectedColumns: readonly Column<Protected>[] = [
  { header: "Service", cell: (row) => <NameCell row={row} /> },
  { header: "Newest backup", nowrap: true, cell: (row) => <NewestCell row={row} /> },
  { header: "Proof", nowrap: true, cell: (row) => <ProofCell row={row} /> },
  { header: "Newest chain", cell: ({ backups }) => <ChainCell backups={backups} /> },
  { header: "Stored", align: "end", cell: ({ backups }) => <StoredCell backups={backups} /> },
  {
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
