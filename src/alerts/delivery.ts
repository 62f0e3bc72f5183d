/**
 * Tells changes of alerts to webhooks. A notification is kept until the webhook has confirmed it with a status below
 * 300: after a kill in between it is sent again, with the same id.
 */
import type * as Https from "node:https";
import { namePattern, problemOfHeader } from "../api/webhooks.ts";
import { childOf } from "../lib/abort.ts";
import { eachOf } from "../lib/limiter.ts";
import { request as httpRequest, type IncomingMessage } from "../lib/node-http.ts";
import { connectionFailure } from "../outgoing/connection-failure.ts";
import { addressRefusalOf } from "../outgoing/dialer.ts";
import type { Agents } from "../outgoing/http.ts";
import type { AlertEvaluations, AlertEvent, AlertNotification } from "../store/saved/alert-evaluations.ts";
import type { Webhook, WebhookSecrets, WebhookStore } from "../store/saved/webhooks.ts";

const https: typeof Https = process.getBuiltinModule("node:https");

export type DeliveryDeps = {
  readonly evaluations: Pick<AlertEvaluations, "due" | "delivered" | "failed">;
  readonly webhooks: Pick<WebhookStore, "open">;
  /** Connect only where the policy of outgoing connections allows it. */
  readonly agents: Agents;
  /** URL of the API as clients reach it; empty if it is not known. */
  readonly publicUrl: string;
};

const atOnce = 8;
const timeoutMs = 10_000;
/** Pauses after failed attempts, in seconds; the last one is repeated. */
const pauses = [5, 15, 60, 300, 900];
/** About half a day. */
const mostAttempts = 50;

/** Sends every notification that is due, the oldest of each alert first. */
export async function deliverNotifications(deps: DeliveryDeps, signal: AbortSignal): Promise<void> {
  await eachOf(await deps.evaluations.due(new Date().toISOString()), atOnce, async (notification) => {
    if (signal.aborted) return;
    const problem = await deliver(deps, notification, signal);
    if (signal.aborted) return;
    if (problem === undefined) return await deps.evaluations.delivered(notification.id);
    const attempts = notification.attempts + 1;
    const pause = pauses[Math.min(attempts, pauses.length) - 1] as number;
    const next = attempts < mostAttempts ? new Date(Date.now() + pause * 1000).toISOString() : undefined;
    await deps.evaluations.failed(notification, problem, next);
  });
}

/** Undefined once the webhook has confirmed; otherwise why it did not. The text holds no part of URL and headers. */
async function deliver(
  deps: DeliveryDeps,
  { organizationId, webhookId, alertId, event }: AlertNotification,
  signal: AbortSignal,
): Promise<string | undefined> {
  const webhook = await deps.webhooks.open(organizationId, webhookId);
  if (webhook === undefined) return "The webhook does not exist any more.";
  const { secrets } = webhook;
  if (secrets === undefined) return "The webhook was stored with another secret key: set its url and headers again.";
  const link = `${deps.publicUrl}/api/v2/alerts/${alertId}`;
  try {
    const status = await post(webhookRequestOf({ ...webhook, secrets }, event, link), deps.agents, signal);
    return status < 300 ? undefined : `The webhook answered with status ${status}.`;
  } catch (error) {
    const refused = addressRefusalOf(error);
    if (refused !== undefined) return refused.message;
    return `The webhook was not reached: ${connectionFailure(error, "its address") ?? "the request failed"}.`;
  }
}

/** The status of the answer, whose body is not read. Redirects are not followed. */
async function post({ url, headers, body }: WebhookRequest, agents: Agents, parent: AbortSignal): Promise<number> {
  using abort = childOf(parent);
  using _ = setTimeout(() => abort.abort(new Error("timed out")), timeoutMs);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(body) } };
    const sent =
      url.protocol === "https:"
        ? https.request(url, { ...options, agent: agents.https, signal: abort.signal }, resolve)
        : httpRequest(url, { ...options, agent: agents.http, signal: abort.signal }, resolve);
    sent.once("error", (error) => reject(abort.signal.aborted ? abort.signal.reason : error));
    sent.end(body);
  });
  // Its connection is not kept: what else the webhook answers is of no use.
  response.on("error", () => {}).destroy();
  return response.statusCode ?? 0;
}

/** The request that tells an event to a webhook, in the form of its service. */
type WebhookRequest = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** `link` is the URL of the alert. */
function webhookRequestOf(
  webhook: Pick<Webhook, "service" | "body"> & { readonly secrets: WebhookSecrets },
  event: AlertEvent,
  link: string,
): WebhookRequest {
  const { secrets } = webhook;
  const url = new URL(secrets.url);
  // A webhook that was stored by an earlier version may have more of them.
  const headers = Object.entries(secrets.headers ?? {}).filter(([name]) => problemOfHeader(name) === undefined);
  for (const [name, value] of Object.entries(secrets.queryParams ?? {})) url.searchParams.append(name, value);
  return {
    url,
    // Attempts of one event have one key: a receiver that keeps the keys takes each event once.
    headers: { "content-type": "application/json", ...Object.fromEntries(headers), "idempotency-key": event.eventId },
    body: bodyOf(webhook, event, link),
  };
}

function bodyOf({ service, body }: Pick<Webhook, "service" | "body">, event: AlertEvent, link: string): string {
  const title = `${event.state === "ALERT" ? "Alert" : "Resolved"}: ${event.alertName}`;
  if (service === "slack") return JSON.stringify({ text: `${title}\n${event.message}\n${link}` });
  if (service === "incidentio" && body === null) {
    return JSON.stringify({
      ...{ title, description: event.message, status: event.state === "ALERT" ? "firing" : "resolved" },
      ...{ deduplication_key: event.alertId, source_url: link, metadata: event },
    });
  }
  if (body === null) return JSON.stringify({ title, link, ...event });
  const level = event.state === "ALERT" ? "error" : "info";
  return filled(body, { ...event, title, body: event.message, link, level });
}

/** Values are written as within a JSON string. What they contain is not looked at again. */
function filled(template: string, values: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(namePattern, (_, name: string) => JSON.stringify(String(values[name] ?? "")).slice(1, -1));
}
