import { getRouteApi } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { Answer } from "../../parts/states.tsx";
import { AccessListPanel } from "./access-list-panel.tsx";
import { paceOf } from "./service.ts";
import { UsersPanel } from "./users-panel.tsx";

const route = getRouteApi("/services/$serviceId");

/** Who may connect: users of the database, and addresses. */
export function ServiceAccessTab() {
  const { serviceId } = route.useParams();
  const query = useOperation("getService", { params: { serviceId } }, { pace: paceOf });
  return (
    <Answer query={query}>
      {(service) => (
        <>
          <UsersPanel service={service} />
          <AccessListPanel service={service} />
        </>
      )}
    </Answer>
  );
}
