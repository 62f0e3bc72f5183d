/** Notifications against a real listener: each change once, in order, with one id in every attempt. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../harness/limits.ts";
import { openTestStores } from "../../harness/stores.ts";
import { startWebhookListener, type WebhookListener } from "../../harness/webhook-listener.ts";
import type { AlertDefinition } from "../api/alerts.ts";
import { Dialer } from "../outgoing/dialer.ts";
import { agentsOf } from "../outgoing/http.ts";
import { OutgoingPolicy } from "../outgoing/policy.ts";
import type { Stores } from "../store/open.ts";
import type { AlertFinding } from "../store/saved/alert-evaluations.ts";
import type { Alert, AlertState } from "../store/saved/alerts.ts";
import type { WebhookContent } from "../store/saved/webhooks.ts";
import { deliverNotifications } from "./delivery.ts";

let folder: string;
let stores: Stores;
let organizationId: string;
let listener: WebhookListener;
let received: WebhookListener["received"];
let url: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-alerts-"));
  stores = await openTestStores(folder);
  organizationId = (await stores.organizations.create("Test")).id;
  listener = await startWebhookListener();
  ({ received, url } = listener);
});
afterEach(async () => {
  await listener[Symbol.asyncDispose]();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const secrets = () => ({ url, headers: { "x-secret": "open-sesame" }, queryParams: { token: "of the query" } });

async function alertWith(webhook: Partial<WebhookContent> = {}): Promise<Alert> {
  const content = { name: "n", service: "generic" as const, description: null, body: null, secrets: secrets() };
  const { id: webhookId } = await stores.webhooks.create(
    organizationId,
    { ...content, ...webhook },
    limits.savedObjects,
  );
  const wanted = { kind: "savedSearch", name: "s", content: {} } as const;
  const search = await stores.savedSearches.create({ organizationId }, wanted, "", limits.savedObjects);
  const definition = {
    ...{ name: "Errors", source: "saved_search", savedSearchId: search.id, threshold: 5, thresholdType: "above" },
    ...{ interval: "1m", channel: { type: "webhook", webhookId }, enabled: true },
  } as AlertDefinition;
  return await stores.alerts.create(organizationId, definition, limits.savedObjects);
}

const stamp = (minute: number) => new Date(Date.UTC(2024, 4, 1, 10, minute)).toISOString();

/** Records a window as the loop of alerts does. */
async function window(alert: Alert, minute: number, state: AlertState): Promise<boolean> {
  const now = (await stores.alerts.find(organizationId, alert.id)) as Alert;
  const finding: AlertFinding = {
    ...{ windowStart: stamp(minute - 1), windowEnd: stamp(minute), state, message: null, readings: [] },
    ...{ firingWindows: 0, errors: [] },
  };
  return await stores.alertEvaluations.record(now, finding, (told) => ({
    ...{ alertId: alert.id, alertName: "Errors", state: told, message: 'a "quoted" {{title}} text' },
    ...{ startTime: stamp(minute - 1), endTime: stamp(minute), threshold: 5, thresholdType: "above", readings: [] },
  }));
}

const anywhere = new OutgoingPolicy({ reach: ["any"], setting: "--pipe-source-networks", ownPorts: [] });

function deliver(policy = anywhere): Promise<void> {
  const agents = agentsOf(new Dialer(policy, "url"), { keepAlive: false });
  const { alertEvaluations: evaluations, webhooks } = stores;
  return deliverNotifications({ evaluations, webhooks, agents, publicUrl: "https://m" }, new AbortController().signal);
}

/** Makes what waits for its next attempt due. */
const dueNow = () => stores.db.run("UPDATE alert_notifications SET next_attempt_at = ?", stamp(0));
const errorsOf = async ({ id }: Alert) => (await stores.alerts.find(organizationId, id))?.errors ?? [];

test("a change of state is told once, and states that stay or are unknown are not", async () => {
  const alert = await alertWith();
  for (const [minute, state] of ["OK", "ALERT", "ALERT", "INSUFFICIENT_DATA", "ALERT", "OK", "OK"].entries()) {
    expect(await window(alert, minute, state as AlertState)).toBe(true);
    await deliver();
  }
  expect(received.map(({ body }) => JSON.parse(body).state)).toEqual(["ALERT", "OK"]);
  const [first] = received;
  expect(first?.url).toBe("/hook?token=of+the+query");
  expect(first?.headers).toMatchObject({ "x-secret": "open-sesame", "content-type": "application/json" });
  const body = JSON.parse(first?.body ?? "");
  expect(body).toMatchObject({ title: "Alert: Errors", alertId: alert.id, startTime: stamp(0), threshold: 5 });
  expect(body.link).toBe(`https://m/api/v2/alerts/${alert.id}`);
  expect(first?.headers["idempotency-key"]).toBe(body.eventId);
});

test("a window is recorded once, and not for a definition that was replaced meanwhile", async () => {
  const alert = await alertWith();
  expect(await window(alert, 1, "ALERT")).toBe(true);
  expect(await window(alert, 1, "OK")).toBe(false);
  await stores.alerts.replace(organizationId, alert.id, alert.definition);
  const finding = { windowStart: stamp(1), windowEnd: stamp(2), state: "OK" as const, message: null };
  const rest = { readings: [], firingWindows: 0, errors: [] };
  expect(await stores.alertEvaluations.record(alert, { ...finding, ...rest }, () => ({}) as never)).toBe(false);
  expect(await window(alert, 1, "OK")).toBe(true);
  expect((await stores.alertEvaluations.list(alert.id, 9)).map(({ state }) => state)).toEqual(["OK"]);
});

test("what fails is sent again with the same id, and before what came later", async () => {
  const alert = await alertWith();
  await window(alert, 1, "ALERT");
  await window(alert, 2, "OK");
  for (const status of [500, 302]) {
    listener.status = status;
    await deliver();
    await dueNow();
  }
  listener.status = 204;
  // The time of the next attempt has not come for the first, nor the turn of the second.
  await deliver();
  await deliver();
  await deliver();
  const [failed, redirected, third, fourth, ...more] = received.map(({ body }) => JSON.parse(body));
  expect([failed.eventId, redirected.eventId]).toEqual([third.eventId, third.eventId]);
  expect([third.state, fourth.state, more.length]).toEqual(["ALERT", "OK", 0]);
  expect(fourth.eventId).not.toBe(third.eventId);
  const messages = (await errorsOf(alert)).map(({ type, message }) => `${type} ${message}`);
  expect(messages).toEqual([302, 500].map((code) => `WEBHOOK_ERROR The webhook answered with status ${code}.`));
});

test("an address that the policy forbids is not reached, whatever it is called", async () => {
  const forbidding = new OutgoingPolicy({ reach: ["public"], setting: "--pipe-source-networks", ownPorts: [] });
  for (const host of ["127.0.0.1", "localhost"]) {
    const named = { ...secrets(), url: url.replace("127.0.0.1", host) };
    const alert = await alertWith({ name: host, secrets: named });
    await window(alert, 1, "ALERT");
    await deliver(forbidding);
    const [error] = await errorsOf(alert);
    expect(error?.message).toMatch(/address of the machine.*--pipe-source-networks/);
  }
  expect(received).toEqual([]);
});

test("headers that a webhook may not have are not sent, also of one that was stored with them", async () => {
  const headers = { "X-ClickHouse-Key": "k", "x-clickhouse-user": "u", host: "other", te: "trailers", "x-own": "1" };
  await window(await alertWith({ secrets: { url, headers } }), 1, "ALERT");
  await deliver();
  const [first] = received;
  expect(first?.headers).toMatchObject({ "x-own": "1", host: new URL(url).host });
  expect(Object.keys(first?.headers ?? {}).filter((name) => /clickhouse|^te$/.test(name))).toEqual([]);
});

test("a reason for a failure holds neither URL nor headers", async () => {
  const alert = await alertWith({ secrets: { ...secrets(), url: url.replace("/hook", "/very-secret-path") } });
  await window(alert, 1, "ALERT");
  await listener[Symbol.asyncDispose]();
  await deliver();
  const [error] = await errorsOf(alert);
  expect(error?.message).toMatch(/^The webhook was not reached: nothing listens/);
  expect(JSON.stringify(error)).not.toMatch(/very-secret-path|open-sesame|of the query/);
});

test("a body of one's own is filled in as JSON text, and what is filled in is not a template", async () => {
  const body = '{"summary": "{{ title }}", "text": "{{body}}", "level": "{{level}}"}';
  await window(await alertWith({ body }), 1, "ALERT");
  await deliver();
  expect(JSON.parse(received[0]?.body ?? "")).toEqual({
    ...{ summary: "Alert: Errors", text: 'a "quoted" {{title}} text', level: "error" },
  });
});

test("slack and incident.io get their own forms", async () => {
  await window(await alertWith({ service: "slack", name: "a" }), 1, "ALERT");
  await window(await alertWith({ service: "incidentio", name: "b" }), 1, "ALERT");
  await deliver();
  const bodies = received.map(({ body }) => JSON.parse(body));
  expect(bodies).toContainEqual({ text: expect.stringMatching(/^Alert: Errors\n/) });
  expect(bodies).toContainEqual(expect.objectContaining({ status: "firing", deduplication_key: expect.any(String) }));
});
