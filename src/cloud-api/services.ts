/** Requests about services, keys and organizations that differ from ours by more than names. */
import { badRequest } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json.ts";
import type { CloudRequest, Run } from "./route.ts";

/** A backup there holds no pipes, so that a client would not know those that it brings. */
export const createCloudService: Run = (call, { params, body }) => {
  const restored = body.backupId == null || body.restorePipes !== undefined ? {} : { restorePipes: "none" };
  return call("createService", { params, body: { ...inReplicas(body), ...restored } });
};

/** The response to a command is the whole record. */
export const updateCloudServiceState: Run = async (call, { params, body }) => {
  await call("updateServiceState", { params, body });
  return await call("getService", { params });
};

export const updateServiceTotalScaling: Run = (call, { params, body }) =>
  call("updateServiceScaling", { params, body: inReplicas(body) });

/** There a service has three workers, and older members name their total. */
function inReplicas({ minTotalMemoryGb, maxTotalMemoryGb, ...body }: JsonObject): JsonObject {
  return {
    ...body,
    ...replicaSize("minTotalMemoryGb", minTotalMemoryGb, "minReplicaMemoryGb", body),
    ...replicaSize("maxTotalMemoryGb", maxTotalMemoryGb, "maxReplicaMemoryGb", body),
  };
}

function replicaSize(totalName: string, total: JsonObject[string] | undefined, name: string, body: JsonObject): object {
  if (total == null) return {};
  if (body[name] != null) throw badRequest(totalName, `cannot be combined with ${name}`);
  if (typeof total === "number" && total % 3 === 0) return { [name]: total / 3 };
  throw badRequest(totalName, "must be a number that is divisible by 3: the total of three replicas");
}

export const getPrivateEndpointConfig: Run = async (call, { params }) => {
  await call("getService", { params });
  return { endpointServiceId: "", privateDnsHostname: "" };
};

/** The path there has no organization. */
export const runServiceQuery: Run = (call, { params, query, body }) =>
  call("runAtQueryEndpoint", { params, query, body });

/** The caller is always a key here. */
export const getCloudIdentity: Run = async (call) => {
  const { key, organization } = await call("getMe", { params: {} });
  return { actorType: "apiKey", keyId: key.id, name: key.name, organizationId: organization.id };
};

export const createCloudKey: Run = (call, { params, body }) =>
  call("createKey", { params, body: { roles: ["developer"], ...body } });

/** A request that changes nothing that we have is answered with what there is. */
export const updateCloudOrganization: Run = (call, { params, body }) =>
  Object.keys(body).length === 0 ? call("getOrganization", { params }) : call("updateOrganization", { params, body });

/** One backup per day is every 24 hours; clients send both. */
export const updateCloudBackupConfiguration: Run = (call, { params, body }: CloudRequest) => {
  const { backupPeriodInHours, ...rest } = body as JsonObject;
  const isImplied = backupPeriodInHours === 24 && rest.backupStartTime != null;
  return call("updateBackupConfiguration", { params, body: isImplied ? rest : body });
};
