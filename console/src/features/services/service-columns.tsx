/** The columns of the list of services. */
import { Link } from "@tanstack/react-router";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { StateCell } from "../../parts/state-badge.tsx";
import { type Column, mainLinkClass } from "../../parts/table.tsx";
import { endpointUrl, type Service } from "./service.ts";
import { ServiceMenu } from "./service-actions.tsx";
import css from "./services.module.css";

export const serviceColumns: readonly Column<Service>[] = [
  { key: "name", header: "Name", sortable: true, cell: (service) => <NameCell service={service} /> },
  {
    key: "state",
    header: "State",
    sortable: true,
    nowrap: true,
    cell: (service) => (
      <StateCell state={service.state} reason={service.stateMessage}>
        <Since service={service} />
      </StateCell>
    ),
  },
  { key: "endpoint", header: "Endpoint", nowrap: true, cell: (service) => <EndpointCell service={service} /> },
  {
    key: "memory",
    header: "Memory limit",
    align: "end",
    cell: ({ maxReplicaMemoryGb }) => `${maxReplicaMemoryGb} GiB`,
  },
  {
    key: "pipes",
    header: "Pipes",
    align: "end",
    cell: ({ pipes }) => (pipes.total === 0 ? "–" : `${pipes.running} of ${pipes.total}`),
  },
  { key: "rows", header: "Rows", align: "end", sortable: true, cell: ({ rows }) => <Count value={rows} /> },
  {
    key: "disk",
    header: "Disk",
    align: "end",
    sortable: true,
    cell: (service) => <Bytes value={service.diskUsedBytes} />,
  },
  {
    key: "backup",
    header: "Last backup",
    sortable: true,
    nowrap: true,
    cell: (service) => <BackupCell service={service} />,
  },
  { key: "menu", header: "", align: "end", cell: (service) => <ServiceMenu service={service} /> },
];

function NameCell({ service }: { readonly service: Service }) {
  return (
    <>
      <Link to="/services/$serviceId" params={{ serviceId: service.id }} className={mainLinkClass}>
        {service.name}
      </Link>
      {service.tags.length > 0 && (
        <div className={css.tags}>
          {service.tags.map(({ key, value }) => (
            <span key={key}>{value === undefined ? key : `${key}=${value}`}</span>
          ))}
        </div>
      )}
    </>
  );
}

/** How long the state lasts, or when a running service sleeps. */
function Since({ service: { state, idle, stateChangedAt } }: { readonly service: Service }) {
  if (state !== "running" || idle.idleAt === undefined) return <RelativeTime at={stateChangedAt} none="" />;
  return (
    <>
      sleeps <RelativeTime at={idle.idleAt} />
    </>
  );
}

function EndpointCell({ service }: { readonly service: Service }) {
  const url = endpointUrl(service);
  if (url === undefined) return <>–</>;
  return (
    <span className={css.endpoint}>
      <code>{url.replace(/^https?:\/\//, "")}</code>
      <CopyButton text={url} label={`Copy endpoint of ${service.name}`} />
    </span>
  );
}

function BackupCell({ service: { lastBackup } }: { readonly service: Service }) {
  if (lastBackup === undefined) return <span className="muted">none</span>;
  const isProven = lastBackup.status === "done" && lastBackup.verification === "passed";
  const word = lastBackup.status === "done" ? lastBackup.verification : lastBackup.status;
  return (
    <span className="toned" data-tone={isProven ? undefined : "warn"}>
      <RelativeTime at={lastBackup.finishedAt ?? lastBackup.startedAt} /> ·{" "}
      {isProven ? "verified" : word.replace("_", " ")}
    </span>
  );
}
