/** Searches, saved searches and alerts on the whole program: rows in, notifications out, kills and sleep between. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { startWebhookListener, type WebhookListener } from "../../../harness/webhook-listener.ts";

type Told = {
  readonly key: string;
  readonly event: { eventId: string; alertId: string; state: string; readings: unknown[] };
};

let served: Served;
let service: BenchService;
let listener: WebhookListener;
let sourceId: string;
let savedSearchId: string;
let webhookId: string;
let alertId: string;

beforeAll(async () => {
  listener = await startWebhookListener();
  listener.status = 500;
  served = await serve({ env: { MILLRACE_IDLE_MINUTE_MS: "2000", MILLRACE_WEBHOOK_NETWORKS: "loopback" } });
  service = await runningService(served, { idleScaling: true, idleTimeoutMinutes: 5 });
  await query(service, "CREATE TABLE logs (ts DateTime64(3, 'UTC'), s String, level String) ORDER BY ts");
  // A row a second from half an hour ago until half an hour from now, two thirds of them errors of "web".
  await query(
    service,
    `INSERT INTO logs SELECT now64(3) - 1800 + number, if(number % 3 = 0, 'api', 'web'),
       if(number % 3 = 0, 'info', 'error') FROM numbers(3600)`,
  );
  const from = { databaseName: "default", tableName: "logs" };
  const source = { name: "logs", kind: "log", connection: service.id, from, timestampValueExpression: "ts" };
  sourceId = await made("/sources", source);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await listener[Symbol.asyncDispose]();
});

const call = (method: string, path: string, body?: object) => observabilityCall(served, method, `/api/v2${path}`, body);
async function made(path: string, body: object): Promise<string> {
  const { status: answered, json, text } = await call("POST", path, body);
  expect(answered, text).toBe(200);
  return json.data.id;
}
const alert = async () => (await call("GET", `/alerts/${alertId}`)).json.data;
const alertOf = (more: object = {}) => ({
  ...{ name: "Errors", savedSearchId, groupBy: "s", threshold: 20, thresholdType: "above", interval: "1m" },
  ...{ channel: { type: "webhook", webhookId }, ...more },
});
const told = (): Told[] =>
  listener.received.map(({ headers, body }) => ({ key: String(headers["idempotency-key"]), event: JSON.parse(body) }));
const eventIds = () => [...new Set(told().map(({ event }) => event.eventId))];

test("a search in the form of the HyperDX API returns the newest rows", async () => {
  const { json } = await call("POST", "/search", {
    ...{ sourceId, where: "level:error", select: "ts, s", orderBy: "ts DESC", maxResults: 5, offset: 1 },
  });
  expect(json.rows).toBe(5);
  expect(new Set(json.data.map(({ s }: { s: string }) => s))).toEqual(new Set(["web"]));
});

test("an alert is told once, although the server is killed before the webhook confirms", async () => {
  savedSearchId = await made("/saved-searches", { name: "Errors", sourceId, where: "level:error" });
  const hook = { name: "listener", service: "generic", url: listener.url };
  webhookId = await made("/webhooks", hook);
  alertId = await made("/alerts", alertOf());
  await until("an attempt", async () => told().length > 0);
  served = await served.restartAfterKill();
  listener.status = 200;
  const failed = told().length;
  await until("a confirmed attempt", async () => told().length > failed);
  expect(eventIds()).toHaveLength(1);
  expect(told().every(({ key, event }) => key === event.eventId)).toBe(true);
  expect(told()[0]?.event).toMatchObject({ state: "ALERT", readings: [{ group: ["web"], fires: true }] });
  const [first] = (await call("GET", `/alerts/${alertId}/evaluations`)).json.data.slice(-1);
  expect(first).toMatchObject({ state: "ALERT", readings: [{ group: ["web"], value: 40 }] });
});

test("a change back is told once too, and a state that stays is not", async () => {
  listener.received.length = 0;
  await query(service, "SELECT 1");
  expect((await call("PUT", `/alerts/${alertId}`, alertOf({ threshold: 1000 }))).status).toBe(200);
  await until("it is told", async () => told().length > 0);
  expect(told().map(({ event }) => event.state)).toEqual(["OK"]);
  const evaluatedAt = async () => (await call("GET", `/alerts/${alertId}/evaluations`)).json.data[0].evaluatedAt;
  const before = await evaluatedAt();
  await call("PUT", `/alerts/${alertId}`, alertOf({ threshold: 2000 }));
  await query(service, "SELECT 1");
  await until("it was evaluated again", async () => (await evaluatedAt()) !== before);
  expect((await alert()).state).toBe("OK");
  expect(told()).toHaveLength(1);
});

test("a tile with a ratio, and one without rows, are evaluated", async () => {
  const select = [
    { aggFn: "count", where: "level:error" },
    { aggFn: "count", where: "" },
  ];
  const none = [{ aggFn: "count", where: "level:none" }];
  const place = { name: "Tile", x: 0, y: 0, w: 6, h: 3 };
  const tiles = [
    { ...place, id: "ratio", config: { displayType: "line", sourceId, select, asRatio: true } },
    { ...place, id: "none", config: { displayType: "number", sourceId, select: none } },
  ];
  const dashboardId = await made("/dashboards", { name: "Overview", tiles });
  const tile = { source: "tile", savedSearchId: undefined, groupBy: undefined, dashboardId };
  const ratio = await made("/alerts", alertOf({ ...tile, tileId: "ratio", threshold: 0.5 }));
  const zero = await made("/alerts", alertOf({ ...tile, tileId: "none", thresholdType: "below", threshold: 1 }));
  await query(service, "SELECT 1");
  for (const [id, value] of [
    [ratio, 2 / 3],
    [zero, 0],
  ] as const) {
    const [found] = await until("it was evaluated", async () => {
      const { data } = (await call("GET", `/alerts/${id}/evaluations`)).json;
      return data.length > 0 && data;
    });
    expect(found).toMatchObject({ state: "ALERT", readings: [{ group: [], fires: true }] });
    expect(found.readings[0].value).toBeCloseTo(value, 2);
    await call("DELETE", `/alerts/${id}`);
  }
});

test("an alert with a wrong expression says so, and is told to nobody", async () => {
  listener.received.length = 0;
  const search = await made("/saved-searches", { name: "Wrong", sourceId, where: "nosuchcolumn:1" });
  const id = await made("/alerts", alertOf({ savedSearchId: search }));
  await query(service, "SELECT 1");
  const wrong = await until("it was evaluated", async () => {
    const { data } = (await call("GET", `/alerts/${id}`)).json;
    return data.executionErrors.length > 0 && data;
  });
  expect(wrong).toMatchObject({ state: "INSUFFICIENT_DATA", stateMessage: expect.stringContaining("nosuchcolumn") });
  await call("DELETE", `/saved-searches/${search}`);
  expect((await call("GET", `/alerts/${id}`)).status).toBe(404);
  // Alerts of tests before this one may be told late.
  expect(told().filter(({ event }) => event.alertId === id)).toEqual([]);
});

test("alerts neither keep a service awake nor wake it, and their state says so", async () => {
  const stateOf = async () => (await served.api.getService({ params: service.params })).state;
  const sleeping = await until("the service is idle, and the alert says so", async () => {
    // A replacement is evaluated at the next pass.
    await call("PUT", `/alerts/${alertId}`, alertOf({ threshold: 1000 }));
    const now = await alert();
    return (await stateOf()) === "idle" && now.state === "INSUFFICIENT_DATA" && now;
  });
  expect(sleeping.stateMessage).toBe("The service does not run, and an alert does not wake it.");
  expect(await stateOf()).toBe("idle");
});
