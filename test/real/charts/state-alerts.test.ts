/** Alerts of states on the whole program: a pipe without its source, rows that it refuses, a missing backup. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { observabilityCall } from "../../../harness/charts/observability.ts";
import { startFauxqs, type TestStore } from "../../../harness/objects/pipe-stores.ts";
import { type StoreProxy, startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { createPipe, pipeBody, rows, untilDegraded, untilRows, untilState } from "../../../harness/pipes.ts";
import { type BenchService, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { startWebhookListener, type WebhookListener } from "../../../harness/webhook-listener.ts";

type Event = { readonly alertId: string; readonly state: string; readonly message: string };

let served: Served;
let service: BenchService;
let store: TestStore;
let proxy: StoreProxy;
let listener: WebhookListener;
let webhookId: string;
let pipeId: string;

beforeAll(async () => {
  listener = await startWebhookListener();
  [served, store] = await Promise.all([serve({ env: { MILLRACE_WEBHOOK_NETWORKS: "loopback" } }), startFauxqs()]);
  proxy = await startStoreProxy(store.endpoint);
  service = await runningService(served, { idleScaling: false });
  const hook = { name: "listener", service: "generic", url: listener.url };
  webhookId = (await called("POST", "/webhooks", hook)).id;
  await store.put("rows/1.json", rows(0, 10));
  const source = { url: `${proxy.endpoint}/bucket/rows/*`, isContinuous: true };
  pipeId = await createPipe(served, service, pipeBody(store, "rows/*", "lake", { source }));
  await untilRows(served, service, "lake", 10);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
  await listener[Symbol.asyncDispose]();
});

async function called(method: string, path: string, body?: object) {
  const { status, json, text } = await observabilityCall(served, method, `/api/v2${path}`, body);
  expect(status, text).toBe(200);
  return json.data;
}
const bodyOf = (metric: string, more: object = {}) => ({
  ...{ name: metric, source: "state", metric, threshold: 1, thresholdType: "above", interval: "1m" },
  ...{ channel: { type: "webhook", webhookId }, ...more },
});
const toldOf = (id: string) =>
  listener.received.map(({ body }): Event => JSON.parse(body)).filter(({ alertId }) => alertId === id);
const statesOf = (id: string) => toldOf(id).map(({ state }) => state);
/** The first that are told: the end of a minute may bring one more. */
const untilTold = (id: string, states: string[]) =>
  until(`${states} of ${id}`, async () => statesOf(id).length >= states.length).then(() =>
    expect(statesOf(id).slice(0, states.length)).toEqual(states),
  );
const found = async (id: string) => (await called("GET", `/alerts/${id}/evaluations`))[0];
/** The first evaluation; with a replacement the next one, which reads the last window again. */
async function evaluated(id: string, replacement?: object) {
  const before = (await found(id))?.evaluatedAt;
  if (replacement !== undefined) await called("PUT", `/alerts/${id}`, replacement);
  const isDone = (evaluation: { evaluatedAt: string } | undefined) =>
    replacement === undefined ? evaluation !== undefined : evaluation?.evaluatedAt !== before;
  return await until("it is evaluated", async () => {
    const evaluation = await found(id);
    return isDone(evaluation) && evaluation;
  });
}

test("a pipe that loses its source is told once with the reason, and once when it is well again", async () => {
  const body = bodyOf("pipe_attention", { pipeId });
  const { id } = await called("POST", "/alerts", body);
  const { id: other } = await called("POST", "/alerts", bodyOf("service_attention"));
  expect(await evaluated(id)).toMatchObject({ state: "OK", readings: [{ value: 0 }] });
  proxy.down = true;
  await untilDegraded(served, service, pipeId, /./);
  expect(await evaluated(id, body)).toMatchObject({
    ...{ state: "ALERT", readings: [{ group: ["pipe into lake"], value: 1, fires: true }] },
  });
  await untilTold(id, ["ALERT"]);
  expect(toldOf(id)[0]?.message).toMatch(/^The threshold is reached \(pipe_attention above 1, 1m\): pipe into lake: ./);
  expect(await evaluated(id, body)).toMatchObject({ state: "ALERT" });
  proxy.down = false;
  await untilState(served, service, pipeId, "Running");
  expect(await evaluated(id, body)).toMatchObject({ state: "OK" });
  await untilTold(id, ["ALERT", "OK"]);
  expect(await evaluated(other)).toMatchObject({ state: "OK" });
  expect(statesOf(other)).toEqual([]);
});

test("refused rows are told with their number, and once no more come it is over", async () => {
  const body = bodyOf("pipe_refused_rows");
  const { id } = await called("POST", "/alerts", body);
  await evaluated(id);
  await store.put("rows/2.json", '{"id":"x","name":"a"}\n{"id":1,"name":"b"}\n{"id":"y","name":"c"}\n');
  await untilRows(served, service, "lake", 11);
  // A kill in between loses no row of the count.
  served = await served.restartAfterKill();
  await evaluated(id, body);
  await untilTold(id, ["ALERT"]);
  expect(toldOf(id)[0]?.message).toContain("pipe into lake: 2.");
  await evaluated(id, body);
  await untilTold(id, ["ALERT", "OK"]);
});

test("a service without a backup is told, and a backup that passes its check ends it", async () => {
  const { createdAt } = await served.api.getService({ params: service.params });
  const ageMs = () => Date.now() - Date.parse(createdAt);
  await until("the service is older than 0.01 hours", async () => ageMs() > 40_000);
  const body = bodyOf("backup_age_hours", { threshold: 0.01 });
  expect(await served.api.listBackups({ params: service.params })).toEqual([]);
  const { id } = await called("POST", "/alerts", body);
  await untilTold(id, ["ALERT"]);
  const { id: backupId } = await served.api.createBackup({ params: service.params });
  const params = { ...service.params, backupId };
  await until("it passed its check", async () => (await served.api.getBackup({ params })).verification === "passed");
  await evaluated(id, body);
  await untilTold(id, ["ALERT", "OK"]);
});

test("the alert of a pipe that is gone says so, and tells nobody", async () => {
  const body = bodyOf("pipe_attention", { pipeId });
  const { id } = await called("POST", "/alerts", body);
  await evaluated(id);
  await served.api.deletePipe({ params: { ...service.params, pipeId } });
  // Without a pipe that exists it cannot be replaced: it is read when the next window ends.
  const gone = await until("it says so", async () => {
    const alert = await called("GET", `/alerts/${id}`);
    return alert.state === "INSUFFICIENT_DATA" && alert;
  });
  expect(gone.stateMessage).toBe("The pipe of the alert does not exist any more.");
  expect(statesOf(id)).toEqual([]);
});
