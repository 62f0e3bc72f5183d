import { getRouteApi, Link } from "@tanstack/react-router";
import { Code, RotateCcw } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { Button, ButtonLink, IconButton } from "../../parts/button.tsx";
import { Bytes, Duration } from "../../parts/numbers.tsx";
import { Facts, Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { RequestDialog } from "../../parts/request-dialog.tsx";
import { Answer } from "../../parts/states.tsx";
import { type BackupDetails, chainsOf, proofOf, titleOf } from "./backup.ts";
import { Chain, ProofBadge } from "./chain.tsx";
import { ProofPanel } from "./proof-panel.tsx";

const route = getRouteApi("/backups/$serviceId/$backupId");

/** One backup: what is proven of it, its chain and what it holds. */
export function BackupPage() {
  const { serviceId, backupId } = route.useParams();
  const query = useOperation(
    "getBackup",
    { params: { serviceId, backupId } },
    { pace: (backup) => (backup !== undefined && isBusy(backup) ? "fast" : "live") },
  );
  return (
    <Answer query={query}>
      {(backup) => (
        <Page
          title={`Backup of ${titleOf(backup)}`}
          badge={<ProofBadge backup={backup} />}
          below={<Below backup={backup} />}
          id={backup.id}
          actions={<Actions backup={backup} />}
        >
          <ChainPanel backup={backup} />
          <div className="cells">
            <ProofPanel backup={backup} />
            <Panel title="Facts">
              <Facts facts={factsOf(backup)} />
            </Panel>
          </div>
        </Page>
      )}
    </Answer>
  );
}

function isBusy({ status, verification, checkRequested }: BackupDetails): boolean {
  return status === "in_progress" || checkRequested !== undefined || (status === "done" && verification === "pending");
}

function Below({ backup }: { readonly backup: BackupDetails }) {
  const { data } = useOperation("listServices", {}, { pace: "slow" });
  const service = data?.find(({ id }) => id === backup.serviceId);
  return (
    <Link to="/backups/$serviceId" params={{ serviceId: backup.serviceId }}>
      All backups of {service?.name ?? "this service"}
    </Link>
  );
}

function Actions({ backup }: { readonly backup: BackupDetails }) {
  const [shown, setShown] = useState(false);
  const { serviceId, id: backupId } = backup;
  const input = { params: { serviceId, backupId } };
  return (
    <>
      <IconButton label="As request" icon={Code} onClick={() => setShown(true)} />
      {backup.status === "done" ? (
        <ButtonLink
          to="/backups/$serviceId/$backupId/restore"
          params={{ serviceId, backupId }}
          look="primary"
          icon={RotateCcw}
        >
          Restore
        </ButtonLink>
      ) : (
        <Button look="primary" icon={RotateCcw} refusal={proofOf(backup).sentence}>
          Restore
        </Button>
      )}
      {shown && (
        <RequestDialog
          title={`Backup of ${titleOf(backup)}`}
          operation="getBackup"
          input={input}
          value={backup}
          command={`millrace backup get ${backupId}`}
          onClose={() => setShown(false)}
        />
      )}
    </>
  );
}

function ChainPanel({ backup }: { readonly backup: BackupDetails }) {
  const { data } = useOperation("listBackups", { params: { serviceId: backup.serviceId } }, { pace: "slow" });
  const chain = chainsOf(data ?? []).find((members) => members.some(({ id }) => id === backup.id));
  if (chain === undefined) return null;
  const index = chain.findIndex(({ id }) => id === backup.id);
  const later = chain.length - index - 1;
  return (
    <Panel title="Chain">
      <Chain chain={chain} current={backup.id} large />
      <p className="muted">
        {index === 0 ? "This full backup needs no other." : `This backup needs the ${countOf(index)} before it.`}
        {later > 0 && ` The ${countOf(later)} after it ${later === 1 ? "needs" : "need"} it.`}
      </p>
    </Panel>
  );
}

function countOf(backups: number): string {
  return backups === 1 ? "backup" : `${backups} backups`;
}

function factsOf(backup: BackupDetails): readonly (readonly [string, React.ReactNode])[] {
  const { bucket, finishedAt, status } = backup;
  const facts: readonly (readonly [string, React.ReactNode] | undefined)[] = [
    ["Name", <code key="name">{backup.backupName}</code>],
    ["Type", backup.type],
    ["Stored", <Bytes key="stored" value={status === "done" ? backup.sizeInBytes : undefined} />],
    ["Restores", <Bytes key="restores" value={status === "done" ? backup.restoresBytes : undefined} />],
    ["Started", <RelativeTime key="started" at={backup.startedAt} />],
    finishedAt === undefined ? undefined : ["Finished", <RelativeTime key="finished" at={finishedAt} />],
    ["Duration", <Duration key="duration" value={backup.durationInSeconds} />],
    ["Made by", backup.trigger === "schedule" ? "the schedule" : "a request"],
    ["Encrypted", backup.encrypted ? "yes" : "no"],
    bucket === undefined ? ["Location", "a folder of the server"] : ["Location", bucket.bucketPath],
  ];
  return facts.filter((fact) => fact !== undefined);
}
