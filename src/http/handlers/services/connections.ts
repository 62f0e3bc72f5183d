/** Connections of the observability API: the services of the organization. */

import type { ConnectionRecord, connectionOperations } from "../../../api/connections.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Stores } from "../../../store/open.ts";
import type { Service } from "../../../store/services/services.ts";
import { hostInUrl } from "../../request/hosts.ts";
import { type EndpointFacts, ownEndpoints } from "../../views/services.ts";
import { foundObject, type Observability } from "../lookups.ts";

export function connectionHandlers({
  services,
  endpoint,
}: Pick<Stores, "services"> & { readonly endpoint: EndpointFacts }): Observability<keyof typeof connectionOperations> {
  const recordOf = (service: Service): ConnectionRecord => ({
    id: service.id,
    name: service.name,
    host: urlOf(service, endpoint),
    username: "default",
    createdAt: service.createdAt,
  });
  const get = async (organizationId: string, id: string) =>
    foundObject(await services.findIn(organizationId, id), "Connection");
  const refused = (what: string) => {
    const how = "every service has one, so create, change or delete the service with the management API";
    return new AppError("NOT_SUPPORTED", `Connections cannot be ${what}: ${how}.`);
  };
  return {
    listConnections: async (_, { organizationId }) => ({ data: (await services.listIn(organizationId)).map(recordOf) }),
    getConnection: async ({ params }, { organizationId }) => ({
      data: recordOf(await get(organizationId, params.connectionId)),
    }),
    createConnection: async () => {
      throw refused("created");
    },
    replaceConnection: async ({ params }, { organizationId }) => {
      await get(organizationId, params.connectionId);
      throw refused("changed");
    },
    deleteConnection: async ({ params }, { organizationId }) => {
      await get(organizationId, params.connectionId);
      throw refused("deleted");
    },
  };
}

/** URL of the first endpoint. */
function urlOf(service: Service, facts: EndpointFacts): string {
  const [first] = ownEndpoints(service, facts);
  return first === undefined ? "" : `${first.protocol}://${hostInUrl(first.host)}:${first.port}`;
}
