import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { counted } from "../../lib/format.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { NoServiceState } from "../../parts/no-service.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { StateCell, stateWord } from "../../parts/state-badge.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { type Column, mainLinkClass, Table } from "../../parts/table.tsx";
import { shownServices } from "./list-search.ts";
import { endpointUrl, isChanging, pipesText, type Service } from "./service.ts";
import { ServiceMenu } from "./service-actions.tsx";
import css from "./services.module.css";

const route = getRouteApi("/services");

/** All databases of the organization. */
export function ServicesPage() {
  const query = useOperation("listServices", {}, { pace: (data) => (data?.some(isChanging) ? "fast" : "live") });
  const create = (
    <ButtonLink to="/services/new" look="primary" needs="admin" icon={Plus}>
      Create service
    </ButtonLink>
  );
  return (
    <Page title="Services" actions={create}>
      <Answer query={query} loading={<Panel flush>{<Skeleton lines={6} />}</Panel>}>
        {(services) => (services.length === 0 ? <NoServices /> : <ServiceList services={services} />)}
      </Answer>
    </Page>
  );
}

function ServiceList({ services }: { readonly services: readonly Service[] }) {
  const { search, change, field } = useFilters(route);
  const shown = shownServices(services, search);
  const states = [...new Set(services.map(({ state }) => state))].toSorted();
  return (
    <>
      <div className="row">
        <SearchInput label="Filter services" placeholder="Name, id or tag" {...field("q")} />
        <InlineSelect
          label="State"
          {...field("state")}
          all="All states"
          options={states.map((state) => ({ value: state as string, label: stateWord(state) }))}
        />
        <span role="status" className="muted">
          {shown.length === services.length
            ? counted(shown.length, "service")
            : `${shown.length} of ${services.length}`}
        </span>
      </div>
      <Panel flush>
        <Table
          none={<NoMatch what="service" onAll={() => change({ q: "", state: "" })} />}
          label="Services"
          columns={serviceColumns}
          rows={shown}
          sort={{ key: search.sort ?? "name", order: search.order ?? "asc" }}
          onSort={({ key, order }) => change({ sort: key as never, order })}
        />
      </Panel>
    </>
  );
}

function NoServices() {
  return (
    <Panel>
      <NoServiceState>
        and it sleeps while nobody asks it, and wakes in a fraction of a second. The <Link to="/">overview</Link> shows
        the first steps.
      </NoServiceState>
    </Panel>
  );
}

const serviceColumns: readonly Column<Service>[] = [
  { sort: "name", header: "Name", cell: (service) => <NameCell service={service} /> },
  {
    sort: "state",
    header: "State",

    nowrap: true,
    cell: (service) => (
      <StateCell state={service.state} reason={service.stateMessage}>
        <Since service={service} />
      </StateCell>
    ),
  },
  { header: "Endpoint", nowrap: true, cell: (service) => <EndpointCell service={service} /> },
  { header: "Memory limit", align: "end", cell: ({ maxReplicaMemoryGb }) => `${maxReplicaMemoryGb} GiB` },
  {
    header: "Pipes",
    align: "end",
    cell: ({ pipes }) => pipesText(pipes),
  },
  { sort: "rows", header: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
  {
    sort: "disk",
    header: "Disk",
    align: "end",

    cell: (service) => <Bytes value={service.diskUsedBytes} />,
  },
  {
    sort: "backup",
    header: "Last backup",

    nowrap: true,
    cell: (service) => <BackupCell service={service} />,
  },
  { header: "", align: "end", cell: (service) => <ServiceMenu service={service} /> },
];

function NameCell({ service }: { readonly service: Service }) {
  // Those of `millrace apply` are for itself.
  const tags = service.tags.filter(({ key }) => !key.startsWith("applied."));
  return (
    <>
      <Link to="/services/$serviceId" params={{ serviceId: service.id }} className={mainLinkClass}>
        {service.name}
      </Link>
      {tags.length > 0 && (
        <div className={css.tags}>
          {tags.map(({ key, value }) => (
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
