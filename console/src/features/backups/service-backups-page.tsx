import { getRouteApi, Link } from "@tanstack/react-router";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { Bytes, Duration } from "../../parts/numbers.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime, useServerNow } from "../../parts/relative-time.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { BackUpButton } from "./back-up-button.tsx";
import {
  type Backup,
  chainsOf,
  firstBackupText,
  paceOf,
  proofOf,
  type Restore,
  type Service,
  scheduleText,
  titleOf,
} from "./backup.ts";
import { Chain, ProofBadge } from "./chain.tsx";
import { shownBackups } from "./list-search.ts";
import { targetText } from "./restore-plan.tsx";

const route = getRouteApi("/backups/$serviceId");

/** All backups of a service, in chains and as a list. The service may be deleted. */
export function ServiceBackupsPage() {
  const { serviceId } = route.useParams();
  const services = useOperation("listServices", {});
  const query = useOperation("listBackups", { params: { serviceId } }, { pace: paceOf });
  const service = services.data?.find(({ id }) => id === serviceId);
  // One that never existed has no backups.
  const isDeleted = services.data !== undefined && service === undefined && query.data !== undefined;
  return (
    <Page
      title={service === undefined ? "Backups of a service" : `Backups of ${service.name}`}
      id={serviceId}
      below={<Below service={service} isDeleted={isDeleted} />}
      actions={
        service !== undefined && (
          <BackUpButton primary service={service} isRunning={query.data?.[0]?.status === "in_progress"} />
        )
      }
    >
      <Answer query={query}>
        {(backups) =>
          backups.length === 0 ? <NoBackups service={service} /> : <Lists serviceId={serviceId} backups={backups} />
        }
      </Answer>
      {service !== undefined && <RestoresPanel serviceId={serviceId} />}
    </Page>
  );
}

function Below({ service, isDeleted }: { readonly service: Service | undefined; readonly isDeleted: boolean }) {
  if (isDeleted) return <span>The service was deleted. Its backups stay until their retention ends.</span>;
  if (service === undefined) return null;
  return (
    <>
      <Link {...serviceAddress(service.id)}>Service</Link>
      <Schedule serviceId={service.id} />
    </>
  );
}

function NoBackups({ service }: { readonly service: Service | undefined }) {
  return (
    <Panel>
      <EmptyState
        title="No backups yet"
        actions={service !== undefined && <BackUpButton service={service} isRunning={false} />}
      >
        {service !== undefined && <FirstBackup service={service} />} Each backup is read back as soon as it is stored;
        the first one is also restored as a trial.
      </EmptyState>
    </Panel>
  );
}

type ListsProps = { readonly serviceId: string; readonly backups: readonly Backup[] };

function Lists({ serviceId, backups }: ListsProps) {
  const { search, change, field } = useFilters(route);
  const retention = useOperation("previewRetention", { params: { serviceId } }, { pace: "slow" });
  const shown = shownBackups(backups, search);
  const words = [...new Set(backups.map((backup) => proofOf(backup).word))].toSorted();
  return (
    <>
      <ChainsPanel backups={backups} />
      <div className="row">
        <InlineSelect
          label="Type"
          {...field("type")}
          all="Full and incremental"
          options={[
            { value: "full", label: "Full" },
            { value: "incremental", label: "Incremental" },
          ]}
        />
        <InlineSelect label="Proof" {...field("proof")} all="Any proof" options={words} />
      </div>
      <Panel flush title="Backups">
        <Table
          none={<NoMatch what="backup" onAll={() => change({ type: "", proof: "" })} />}
          label="Backups"
          columns={backupColumns(retention.data ?? [])}
          rows={shown}
        />
      </Panel>
    </>
  );
}

const shownChains = 6;

function ChainsPanel({ backups }: { readonly backups: readonly Backup[] }) {
  const chains = chainsOf(backups);
  if (chains.length === 0) return null;
  return (
    <Panel title="Chains" actions={<span className="muted">a backup needs all blocks before it</span>}>
      {chains.slice(0, shownChains).map((chain) => (
        <div key={chain[0]?.id} className="group">
          <span className="muted">
            begun {titleOf(chain[0] as Backup)}, newest <RelativeTime at={chain.at(-1)?.startedAt} />
          </span>
          <Chain chain={chain} large />
        </div>
      ))}
      {chains.length > shownChains && (
        <p className="muted">{chains.length - shownChains} older chains are in the list below.</p>
      )}
    </Panel>
  );
}

const columns: readonly Column<Restore>[] = [
  {
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
  { header: "State", nowrap: true, cell: ({ status }) => <StateBadge state={status} /> },
  { header: "Begun", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
];

/** Restores into the service; nothing where there were none. */
function RestoresPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("listRestores", { params: { serviceId } });
  if (query.data?.length === 0) return null;
  return (
    <Panel flush title="Restores into this service">
      <Answer query={query}>{(restores) => <Table label="Restores" columns={columns} rows={restores} />}</Answer>
    </Panel>
  );
}

/** When backups are made, and how long they are kept. */
function Schedule({ serviceId }: { readonly serviceId: string }) {
  const { data } = useOperation("getBackupConfiguration", { params: { serviceId } }, { pace: "slow" });
  return data === undefined ? null : <span>{scheduleText(data)}</span>;
}

/** When the first backup begins by itself. */
function FirstBackup({ service }: { readonly service: Service }) {
  const now = useServerNow();
  const { data } = useOperation("getBackupConfiguration", { params: { serviceId: service.id } }, { pace: "slow" });
  return data === undefined ? null : firstBackupText(service.createdAt, data, now);
}

type Retention = OperationResult<"previewRetention">;

/** `retention`: what it does with each backup now; empty until it is known. */
function backupColumns(retention: Retention): readonly Column<Backup>[] {
  const verdicts = new Map(retention.map((verdict) => [verdict.backupId, verdict]));
  return [
    { header: "Started", nowrap: true, cell: (backup) => <NameCell backup={backup} /> },
    { header: "Proof", nowrap: true, cell: (backup) => <ProofBadge backup={backup} /> },
    { header: "Type", cell: ({ type }) => type },
    { header: "Size", align: "end", cell: (backup) => <SizeCell backup={backup} /> },
    { header: "Duration", align: "end", cell: ({ durationInSeconds }) => <Duration value={durationInSeconds} /> },
    { header: "Retention", cell: ({ id }) => <RetentionCell verdict={verdicts.get(id)} /> },
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
