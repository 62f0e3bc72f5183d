import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { counted } from "../../lib/format.ts";
import { ButtonLink } from "../../parts/button.tsx";
import { NoMatch, useFilters } from "../../parts/filters.tsx";
import { NoServiceState } from "../../parts/no-service.tsx";
import { Filters, Page, Panel } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { stateWord } from "../../parts/state-badge.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { shownServices } from "./list-search.ts";
import { isChanging, type Service } from "./service.ts";
import { serviceColumns } from "./service-columns.tsx";

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
      <Filters>
        <SearchInput label="Filter services" placeholder="Name, id or tag" {...field("q")} />
        <InlineSelect
          label="State"
          {...field("state")}
          all="All states"
          options={states.map((state) => ({ value: state as string, label: stateWord(state) }))}
        />
        <Count shown={shown.length} all={services.length} />
      </Filters>
      <Panel flush>
        <Table
          none={<NoMatch what="service" onAll={() => change({ q: "", state: "" })} />}
          label="Services"
          columns={serviceColumns}
          rows={shown}
          rowKey={({ id }) => id}
          sort={{ key: search.sort ?? "name", order: search.order ?? "asc" }}
          onSort={({ key, order }) => change({ sort: key as never, order })}
        />
      </Panel>
    </>
  );
}

function Count({ shown, all }: { readonly shown: number; readonly all: number }) {
  const text = shown === all ? counted(all, "service") : `${shown} of ${all}`;
  return (
    <span role="status" style={{ color: "var(--color-text-muted)", fontSize: "var(--text-sm)" }}>
      {text}
    </span>
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
