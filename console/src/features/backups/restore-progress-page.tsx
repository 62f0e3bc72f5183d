import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { serviceAddress } from "../../lib/addresses.ts";
import { bytesText, durationText } from "../../lib/format.ts";
import { Meter, MeterNumbers } from "../../parts/meter.tsx";
import { Note } from "../../parts/note.tsx";
import { Facts, Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Restore, titleOf } from "./backup.ts";
import css from "./backups.module.css";
import { phaseText, type Sample, secondsLeft, targetText } from "./restore-plan.tsx";

const route = getRouteApi("/backups/$serviceId/restores/$restoreId");

/** A restore while it runs, and what it says when it has ended. */
export function RestoreProgressPage() {
  const params = route.useParams();
  const query = useOperation(
    "getRestore",
    { params },
    { pace: (restore) => (restore !== undefined && hasEnded(restore) ? "slow" : "fast") },
  );
  const services = useOperation("listServices", {}, { pace: "slow" });
  const service = services.data?.find(({ id }) => id === params.serviceId);
  return (
    <Answer query={query}>
      {(restore) => (
        <Page
          title="Restore"
          badge={<StateBadge state={restore.status} />}
          id={restore.id}
          below={<Link {...serviceAddress(params.serviceId)}>{service?.name ?? "Service"}</Link>}
        >
          <Panel title={phaseText(restore)}>
            <Progress restore={restore} />
            {restore.error !== undefined && <Note tone="bad">{restore.error}</Note>}
            {restore.status === "done" && <Note tone="ok">The rows are there and were counted.</Note>}
          </Panel>
          {restore.notes.length > 0 && <Notes notes={restore.notes} />}
          <Panel title="Facts">
            <Facts facts={factsOf(restore, service?.name)} />
          </Panel>
        </Page>
      )}
    </Answer>
  );
}

function hasEnded({ status }: Restore): boolean {
  return status === "done" || status === "error";
}

function Progress({ restore }: { readonly restore: Restore }) {
  const { doneBytes, totalBytes } = restore.progress;
  const left = useSecondsLeft(restore);
  return (
    <div className="group">
      <Meter
        label="Bytes fetched and restored"
        value={restore.status === "done" ? 1 : totalBytes === 0 ? 0 : doneBytes / totalBytes}
        tone={restore.status === "error" ? "bad" : restore.status === "done" ? "ok" : "info"}
      />
      <MeterNumbers>
        <span className="numeric">
          {totalBytes === 0 ? "–" : `${bytesText(doneBytes)} of ${bytesText(totalBytes)}`}
        </span>
        <span className="numeric">{left === undefined ? "" : `about ${durationText(left)} left`}</span>
      </MeterNumbers>
    </div>
  );
}

/** By the rate since the page was opened. */
function useSecondsLeft(restore: Restore): number | undefined {
  const { doneBytes: bytes, totalBytes } = restore.progress;
  const [first, setFirst] = useState<Sample>();
  useEffect(() => {
    setFirst((known) => known ?? { at: serverNow(), bytes });
  }, [bytes]);
  if (hasEnded(restore) || bytes >= totalBytes) return undefined;
  return secondsLeft(first, { at: serverNow(), bytes }, totalBytes);
}

function Notes({ notes }: { readonly notes: readonly string[] }) {
  return (
    <Panel title="Notes">
      <ul className={css.effects}>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </Panel>
  );
}

function factsOf(restore: Restore, name: string | undefined): readonly (readonly [string, React.ReactNode])[] {
  return [
    ["Restores", targetText(restore)],
    ["Into", name ?? restore.serviceId],
    ["From", <BackupLink key="from" backupId={restore.backupId} />],
    ["Begun", <RelativeTime key="begun" at={restore.createdAt} />],
    ["Ended", <RelativeTime key="ended" at={restore.finishedAt} none="not yet" />],
  ];
}

/** The backup may be one of another service. */
function BackupLink({ backupId }: { readonly backupId: string }) {
  const { data } = useOperation("listAllBackups", {}, { pace: "never" });
  const backup = data?.find(({ id }) => id === backupId);
  if (backup === undefined) return <code>{backupId.slice(0, 8)}</code>;
  return (
    <Link to="/backups/$serviceId/$backupId" params={{ serviceId: backup.serviceId, backupId }}>
      backup of {titleOf(backup)}
    </Link>
  );
}
