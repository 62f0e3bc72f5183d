/** What is typed about a webhook, and the request that follows from it. */
import type { CallInput } from "../../api/client.ts";
import type { Webhook } from "./watched.ts";

type WebhookBody = CallInput<"createWebhook">["body"];

export const webhookKinds = {
  generic: "JSON to any URL",
  slack: "Slack",
  incidentio: "incident.io",
} as const satisfies Record<Webhook["service"], string>;

/** `keep`: what the server has, which nobody is shown. */
export type Sealed = "keep" | "replace" | "remove";

export type WebhookForm = {
  readonly name: string;
  readonly service: Webhook["service"];
  readonly url: string;
  readonly description: string;
  readonly body: string;
  /** What happens to the headers, and their lines `Name: value`. */
  readonly headersDo: Sealed;
  readonly headers: string;
  /** The same of the parameters of the URL, `name=value`. */
  readonly queryParamsDo: Sealed;
  readonly queryParams: string;
};

/** The form of a webhook, or of a new one. The URL is never shown, so it must be typed again. */
export function webhookForm(webhook?: Webhook): WebhookForm {
  const { name = "", service = "generic", description = "", body = "" } = webhook ?? {};
  const does = webhook === undefined ? "replace" : "keep";
  return {
    name,
    service,
    description,
    body,
    url: "",
    headersDo: does,
    headers: "",
    queryParamsDo: does,
    queryParams: "",
  };
}

/** The request. Members that are left out keep what the server has. */
export function webhookBody(form: WebhookForm): WebhookBody {
  const { name, service, url, description, body } = form;
  const isSlack = service === "slack";
  return {
    ...{ name, service, url: url.trim(), description: description.trim() === "" ? null : description },
    body: service === "generic" && body.trim() !== "" ? body : null,
    // Slack takes neither, so those of before go.
    ...sealed("headers", isSlack ? "remove" : form.headersDo, pairs(form.headers, ":")),
    ...sealed("queryParams", isSlack ? "remove" : form.queryParamsDo, pairs(form.queryParams, "=")),
  };
}

function sealed(member: "headers" | "queryParams", does: Sealed, given: Readonly<Record<string, string>>) {
  if (does === "keep") return {};
  return { [member]: does === "remove" ? {} : given };
}

/** One pair per line, split at the first separator; empty lines count for nothing. */
function pairs(text: string, separator: ":" | "="): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(separator);
      return at === -1 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
