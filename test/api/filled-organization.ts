/** An organization with one object of every kind that a path names, and its callers. */
import { randomUUID } from "node:crypto";
import { limits } from "../../harness/limits.ts";
import type { KeyRole } from "../../src/api/keys.ts";
import { type Api, basic } from "./harness.ts";

export type Caller = { readonly auth: string | null; readonly headers?: Record<string, string> };

export type FilledOrganization = {
  /** A value for every parameter of a path, and for members of bodies that name objects. */
  readonly ids: Readonly<Record<string, string>>;
  readonly keys: Readonly<Record<KeyRole, Caller>>;
  /** Browsers that are signed in with the keys. */
  readonly sessions: Readonly<Record<KeyRole, Caller>>;
  readonly token: Caller;
};

const columns = [{ name: "a", type: "String" }];

export async function fillOrganization(api: Api, name: string): Promise<FilledOrganization> {
  const { id: organizationId } = await api.organizations.create(name);
  const caller = (role: KeyRole) => makeCaller(api, organizationId, role);
  const [admin, developer, reader] = [await caller("admin"), await caller("developer"), await caller("read_only")];
  const pusher = await caller("push");
  const post = async (path: string, body: object) => {
    const { status, body: answer } = await api.call("POST", path, { ...admin.key, body });
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${answer.error}`);
    return answer.result;
  };
  const root = `/v1/organizations/${organizationId}`;
  const { service } = await post(`${root}/services`, { name: `service of ${name}` });
  const { token, accessToken } = await post(`${root}/accessTokens`, { name: `token of ${name}` });
  const userName = `user_of_${name}`;
  await post(`${root}/services/${service.id}/users`, { name: userName });
  const content = { query: "SELECT 1" };
  const saved = await post(`${root}/savedObjects`, { kind: "query", name: `query of ${name}`, content });
  const chartSource = { name: "logs", kind: "log", serviceId: service.id };
  const source = await api.call("POST", "/api/v2/sources", {
    auth: `Bearer ${accessToken}`,
    body: { ...chartSource, from: { databaseName: "default", tableName: "logs" }, timestampValueExpression: "t" },
  });
  const kept = await documents(api, `Bearer ${accessToken}`, source.body.data.id);
  const openApiKeys = [admin, reader].map(({ keyId }) => keyId);
  await api.queryEndpoints.set(service.id, { roles: ["sql_console_read_only"], openApiKeys, allowedOrigins: "" });
  const stored = await storedObjects(api, organizationId, service.id);
  const { body: listed } = await api.call("GET", `${root}/activities`, admin.key);
  return {
    ids: {
      ...{ organizationId, serviceId: service.id, keyId: reader.keyId, tokenId: token.id, ...stored, userName },
      ...{ sessionId: reader.sessionId, savedObjectId: saved.id, activityId: listed.result.activities[0].id },
      ...{ connectionId: service.id, ...kept },
      ...{ queryId: randomUUID(), database: `database_of_${name}`, table: `table_of_${name}`, id: source.body.data.id },
    },
    keys: { admin: admin.key, developer: developer.key, read_only: reader.key, push: pusher.key },
    sessions: { admin: admin.session, developer: developer.session, read_only: reader.session, push: pusher.session },
    token: { auth: `Bearer ${accessToken}` },
  };
}

/** What the observability API keeps for a source. */
async function documents(api: Api, auth: string, sourceId: string) {
  const made = async (path: string, body: object) =>
    (await api.call("POST", path, { auth, body })).body.data.id as string;
  const savedSearchId = await made("/api/v2/saved-searches", { name: "search", sourceId });
  const webhook = { name: "hook", service: "generic", url: "https://alerts.example.com/" };
  const webhookId = await made("/api/v2/webhooks", webhook);
  const condition = { threshold: 1, thresholdType: "above", interval: "1m" };
  const alert = { savedSearchId, ...condition, channel: { type: "webhook", webhookId } };
  return {
    ...{ savedSearchId, webhookId, alertId: await made("/api/v2/alerts", alert) },
    dashboardId: await made("/api/v2/dashboards", { name: "dashboard", tiles: [] }),
  };
}

async function makeCaller(api: Api, organizationId: string, role: KeyRole) {
  const owner = { organizationId, name: `key of ${role}`, expireAt: null };
  const { key, secret } = await api.credentials.createKey({ ...owner, role, state: "enabled" });
  const { session, value } = await api.consoleSessions.create(key.id, "a browser");
  const page = { "sec-fetch-site": "same-origin", "x-millrace-console": "1", "content-type": "application/json" };
  return {
    keyId: key.id,
    sessionId: session.id,
    key: { auth: basic(key.keyId, secret) },
    session: { auth: null, headers: { ...page, cookie: `millrace_session_8150=${value}` } },
  };
}

/** Objects that a request makes only with an engine or a source. */
async function storedObjects(api: Api, organizationId: string, serviceId: string) {
  await api.services.setState(serviceId, "running", null);
  const backupId = await api.backups.insert({
    ...{ organizationId, serviceId, serviceName: "s", name: "n", trigger: "schedule", status: "done" },
    ...{ type: "full", baseId: null, encrypted: false, location: { kind: "local", root: "/x" } },
    ...{ verification: "passed", startedAt: "2026-01-01T00:00:00.000Z", finishedAt: "2026-01-01T00:00:05.000Z" },
    sizeBytes: 10,
  });
  const part = { sourceDatabase: "a", sourceTable: "t", targetDatabase: "b", targetTable: "t" };
  const restoreId = await api.restores.request({
    ...{ backupId, serviceId, scope: "table", forced: false, pipes: "stopped", ...part },
  });
  await api.restores.finish(restoreId, null, []);
  const connection = { urls: ["https://ch.example.com"], username: "owner" };
  const connectionPassword = api.connectionPasswords.seal(serviceId, "open-sesame");
  const moveId = await api.serviceMoves.request({ serviceId, connection, connectionPassword, leaveBehind: false });
  await api.serviceMoves.cancelled({ id: moveId, serviceId }, null);
  const pipeId = await api.pipes.create(
    {
      ...{ serviceId, name: "Events", sourceKind: "objectStorage", roles: undefined, fieldMappings: [], secrets: {} },
      source: { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" } },
      ...{ destination: { table: "events", columns }, scaling: {}, settings: {} },
    },
    limits.pipes,
  );
  // The pipe is gone: what belongs to one that exists is not a leftover.
  const gone = { id: randomUUID(), serviceId, name: "Shop", sourceKind: "relationalDb" };
  await api.leftovers.record(gone, [{ kind: "slot", name: "millrace_x" }], {});
  const [leftover] = await api.leftovers.ofPipe(gone.id);
  return { backupId, restoreId, pipeId, leftoverId: leftover?.id as string };
}
