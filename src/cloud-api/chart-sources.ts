/** Chart sources of one service, under its path. Ours are those of the organization. */
import { found } from "../lib/errors.ts";
import type { CallOperation, CloudRequest, Run } from "./route.ts";

export const listServiceSources: Run = async (call, { params, query: { limit, offset = 0 } }) => {
  await call("getService", { params });
  const { data } = await call("listSources", { params: {} });
  const own = data.filter(({ serviceId }: { serviceId: string }) => serviceId === params.serviceId);
  return own.slice(offset, limit === undefined ? undefined : offset + limit);
};

export const createServiceSource: Run = async (call, { params, body }) => {
  await call("getService", { params });
  return (await call("createSource", { params: {}, body: { ...body, serviceId: params.serviceId } })).data;
};

export const getServiceSource: Run = async (call, { params }) => await sourceOf(call, params);

export const replaceServiceSource: Run = async (call, { params, body }) => {
  const { id } = await sourceOf(call, params);
  return (await call("replaceSource", { params: { id }, body: { ...body, serviceId: params.serviceId } })).data;
};

export const deleteServiceSource: Run = async (call, { params }) => {
  const { id } = await sourceOf(call, params);
  await call("deleteSource", { params: { id } });
};

async function sourceOf(call: CallOperation, params: CloudRequest["params"]): Promise<{ readonly id: string }> {
  const { id = "", serviceId } = params;
  const { data } = await call("getSource", { params: { id } });
  return found(data.serviceId === serviceId ? data : undefined, "Source", id);
}
