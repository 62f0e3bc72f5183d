/** Webhooks (observability API), in the form of the HyperDX API: where changes of alerts are told. */
import { z } from "zod";
import { hopHeaders } from "../lib/hop-headers.ts";
import { knownObject, operation, plainText, setByServer, timestamp, uuid, version } from "./operation.ts";
import { offsetMeta, offsetQuery } from "./saved-searches.ts";

export const webhookServices = ["slack", "incidentio", "generic"] as const;

/** What `{{name}}` in a body stands for. */
export const templateNames = [
  ...["title", "body", "link", "level", "state", "eventId", "alertId", "startTime", "endTime"],
] as const;

/** A name in a template. */
export const namePattern = /\{\{\s*([^{}]*?)\s*\}\}/g;

const value = z
  .string()
  .max(4096)
  .refine((text) => !/[\u0000-\u001f\u007f]/.test(text), { error: "must not contain control characters" });

const headers = z
  .record(
    z
      .string()
      .max(256)
      .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, { error: "must be the name of a header" }),
    value,
  )
  .refine((given) => Object.keys(given).length <= 100, { error: "must have at most 100 members" });
const queryParams = z
  .record(plainText(1, 1024), value)
  .refine((given) => Object.keys(given).length <= 100, { error: "must have at most 100 members" });

/** Headers that the server writes itself. */
const ownHeaders = ["host", "content-length", "idempotency-key", "expect"];

/** Why a webhook has no such header: with them, it would be a client of an engine or of this server. */
export function problemOfHeader(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (ownHeaders.includes(lower) || hopHeaders.has(lower)) return "is set by the server";
  if (/^x-(clickhouse|millrace)-/.test(lower)) return "is not for webhooks, which are not clients of a database";
  return undefined;
}

const shown = {
  name: plainText(1, 1024).trim().min(1).describe("Unique among the webhooks of the organization and service"),
  service: z.enum(webhookServices).describe("Form of the request"),
  description: z.string().max(2048).optional(),
  body: z
    .string()
    .max(16_384)
    .optional()
    .describe(
      `Template of the body of generic and incidentio webhooks with ${templateNames.map((name) => `{{${name}}}`).join(", ")}`,
    ),
};

export const webhookBody = knownObject({
  ...shown,
  description: shown.description.nullable(),
  body: shown.body.nullable(),
  url: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .max(2048)
    .describe("Sealed, and shown to administrators only"),
  headers: headers
    .nullish()
    .describe(
      "Sealed, and never shown. A replacement without them keeps those of before, if its url has the same scheme, host and port; {} removes them",
    ),
  queryParams: queryParams.nullish().describe("Added to the URL; the same holds for them"),
  ...setByServer,
})
  .superRefine((given, context) => {
    const fail = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
    for (const name of Object.keys(given.headers ?? {})) {
      const problem = problemOfHeader(name);
      if (problem !== undefined) fail(["headers", name], problem);
    }
    for (const [, name = ""] of (given.body ?? "").matchAll(namePattern)) {
      if (!(templateNames as readonly string[]).includes(name)) {
        fail(["body"], `{{${name}}} stands for nothing; use ${templateNames.join(", ")}`);
      }
    }
    if (given.service !== "slack") return;
    if (given.body != null) fail(["body"], "is not for slack webhooks");
    for (const name of ["headers", "queryParams"] as const) {
      if (Object.keys(given[name] ?? {}).length > 0) fail([name], "is not for slack webhooks");
    }
  })
  .meta({ id: "WebhookRequest" });

const record = z
  .object({
    ...{ id: uuid, ...shown, version, createdAt: timestamp, updatedAt: timestamp },
    url: z.string().optional().describe("Shown to administrators alone: it may hold a secret"),
  })
  .describe("Without headers and query parameters: they may hold secrets")
  .meta({ id: "Webhook" });

export type WebhookBody = z.output<typeof webhookBody>;
export type WebhookRecord = z.output<typeof record>;

const root = "/api/v2/webhooks";
const one = { path: `${root}/{webhookId}`, params: z.object({ webhookId: plainText(1, 100) }) };
const tag = "Webhooks";

export const webhookOperations = {
  listWebhooks: operation({
    ...{ method: "GET", storedOnly: true, path: root, tag, access: "read" },
    summary: "Lists webhooks, oldest first",
    query: z.object(offsetQuery),
    result: z.object({ data: z.array(record), meta: offsetMeta }),
  }),
  createWebhook: operation({
    ...{ method: "POST", path: root, tag, access: "developer" },
    summary: "Creates a webhook",
    body: webhookBody,
    result: z.object({ data: record }),
  }),
  replaceWebhook: operation({
    ...{ method: "PUT", versioned: true, ...one, tag, access: "developer", summary: "Replaces a webhook" },
    body: webhookBody,
    result: z.object({ data: record }),
  }),
  deleteWebhook: operation({
    ...{ method: "DELETE", versioned: true, ...one, tag, access: "developer" },
    summary: "Deletes a webhook that no alert uses",
    result: z.object({}),
  }),
};
