import { getRouteApi, Outlet } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { Note } from "../../parts/note.tsx";
import { Page } from "../../parts/page.tsx";
import { Elapsed } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Answer } from "../../parts/states.tsx";
import { NavTabs } from "../../parts/tabs.tsx";
import { paceOf, type Service } from "./service.ts";
import { ServiceActions } from "./service-actions.tsx";

const route = getRouteApi("/services/$serviceId");

/** The frame of a service's tabs. */
export function ServicePage() {
  const { serviceId } = route.useParams();
  const query = useOperation("getService", { params: { serviceId } }, { pace: paceOf });
  return (
    <Answer query={query}>
      {(service) => (
        <Page
          title={service.name}
          badge={<StateBadge state={service.state} />}
          below={<Below service={service} />}
          id={service.id}
          actions={<ServiceActions service={service} />}
        >
          {service.stateMessage !== undefined && (
            <Note tone={service.state === "failed" ? "bad" : "warn"}>{service.stateMessage}</Note>
          )}
          <NavTabs
            label="Service"
            tabs={[
              { to: "/services/$serviceId", params: { serviceId }, label: "Overview" },
              { to: "/services/$serviceId/access", params: { serviceId }, label: "Users and access" },
              { to: "/services/$serviceId/settings", params: { serviceId }, label: "Settings" },
            ]}
          />
          <Outlet />
        </Page>
      )}
    </Answer>
  );
}

function Below({ service }: { readonly service: Service }) {
  return (
    <>
      {service.stateChangedAt !== undefined && (
        <span>
          {service.state === "idle" ? "asleep" : service.state} for <Elapsed since={service.stateChangedAt} />
        </span>
      )}
      <span>ClickHouse {service.databaseVersion}</span>
      <span>
        {service.runtime === "external" ? "external server" : `memory limit set to ${service.maxReplicaMemoryGb} GiB`}
      </span>
    </>
  );
}
