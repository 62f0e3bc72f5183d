/** The request that tells an event to a webhook, in the form of its service. */
import { namePattern, problemOfHeader } from "../api/webhooks.ts";
import type { AlertEvent } from "../store/saved/alert-evaluations.ts";
import type { Webhook, WebhookSecrets } from "../store/saved/webhooks.ts";

export type WebhookRequest = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** `link` is the URL of the alert. */
export function webhookRequestOf(
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
