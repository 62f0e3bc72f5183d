import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { NoServiceState } from "../../parts/no-service.tsx";
import { GoneNote } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { InlineSelect, named } from "../../parts/select.tsx";
import { ServiceAway } from "../../parts/service-away.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer } from "../../parts/states.tsx";
import { toastError } from "../../parts/toast.tsx";
import { openSaved } from "./open-saved.ts";
import { openTab } from "./query-tabs.ts";
import type { SqlSearch } from "./search.ts";
import css from "./sql.module.css";
import { Workbench } from "./workbench.tsx";

type Service = OperationResult<"listServices">[number];

/** States in which Run does not help. */
const awayStates = ["stopped", "stopping", "failed", "starting", "provisioning"];
const reads = ["listTables", "listQueries"] as const;

const lastServiceKey = "millrace.sql.service";

/** Statements for a service. Opening the page and reading its tables wakes nothing; Run does. */
export function SqlPage() {
  const services = useOperation("listServices", {});
  useEffect(() => {
    document.title = "SQL · Millrace";
  }, []);
  return (
    <Answer query={services}>{(list) => (list.length === 0 ? <NoService /> : <WithService services={list} />)}</Answer>
  );
}

function NoService() {
  return (
    <Page title="SQL">
      <NoServiceState>then ask it anything here.</NoServiceState>
    </Page>
  );
}

function WithService({ services }: { readonly services: readonly Service[] }) {
  const search: SqlSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const byId = (wanted: string | null | undefined) => services.find(({ id }) => id === wanted);
  // A service that is created or renamed meanwhile does not take the place of the one that is shown.
  const [first] = useState(() => (byId(localStorage.getItem(lastServiceKey)) ?? services[0])?.id);
  const service = byId(search.service) ?? byId(first) ?? (services[0] as Service);
  const choose = (id: string) => {
    localStorage.setItem(lastServiceKey, id);
    void navigate({ to: "/sql", search: { service: id }, replace: true });
  };
  useLink(search, () => void navigate({ to: "/sql", search: { service: service.id }, replace: true }));
  return (
    <div className={css.page}>
      <header className={`row ${css.head}`}>
        <h1 className={css.title}>SQL</h1>
        <InlineSelect label="Service" value={service.id} options={named(services)} onChange={choose} />
        <StateBadge state={service.state} />
        {service.state === "idle" && (
          <span className="muted">Run wakes it in about 0.2 s; reading tables does not.</span>
        )}
        {awayStates.includes(service.state) && <ServiceAway serviceId={service.id} reads={reads} />}
      </header>
      {search.service !== undefined && byId(search.service) === undefined && (
        <GoneNote what="service">This is {service.name}.</GoneNote>
      )}
      <Workbench key={service.id} service={service} />
    </div>
  );
}

/** Opens what a shared link names, once, and takes it out of the address. */
function useLink({ q, p, saved }: SqlSearch, onOpened: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link is opened once.
  useEffect(() => {
    if (saved !== undefined) openSaved(saved).catch(toastError);
    else if (q !== undefined) openTab({ text: q, params: paramsOf(p) });
    else return;
    onOpened();
  }, [q, p, saved]);
}

function paramsOf(json: string | undefined): Record<string, string> {
  try {
    const entries = Object.entries(JSON.parse(json ?? "{}") as Record<string, unknown>);
    return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
  } catch {
    return {};
  }
}
