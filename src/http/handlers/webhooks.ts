/** Webhooks of the observability API. What may hold a secret goes in, and never comes out. */
import type { Handlers, ObservabilityOperations } from "../../api/operations.ts";
import type { WebhookBody, WebhookRecord, webhookOperations } from "../../api/webhooks.ts";
import { AppError } from "../../lib/errors.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { OrganizationLimits } from "../../store/limits.ts";
import type { Webhook, WebhookContent, WebhookStore } from "../../store/webhooks.ts";
import type { Context } from "../context.ts";

export type WebhookDeps = {
  readonly webhooks: WebhookStore;
  /** Where webhooks may be. */
  readonly policy: OutgoingPolicy;
  readonly limits: OrganizationLimits;
};

type Names = keyof typeof webhookOperations;

export function webhookHandlers({
  webhooks,
  policy,
  limits,
}: WebhookDeps): Pick<Handlers<ObservabilityOperations, Context>, Names> {
  const dialer = new Dialer(policy, "url");
  const found = (webhook: Webhook | undefined) => {
    if (webhook === undefined) throw new AppError("NOT_FOUND", "Webhook not found");
    return { data: recordOf(webhook) };
  };
  /** A name is resolved, and its address checked, whenever something is sent. */
  const content = (body: WebhookBody): WebhookContent => {
    const { protocol, hostname, port } = new URL(body.url);
    const target = {
      host: hostname.replaceAll(/[[\]]/g, ""),
      port: Number(port || (protocol === "https:" ? 443 : 80)),
    };
    const refused = dialer.literalRefusal(target);
    if (refused !== undefined) throw refused;
    const { name, service, url } = body;
    const secrets = { url, headers: body.headers ?? undefined, queryParams: body.queryParams ?? undefined };
    return { name, service, description: body.description ?? null, body: body.body ?? null, secrets };
  };
  return {
    listWebhooks: async ({ query: { limit, offset } }, { organizationId }) => ({
      data: (await webhooks.list(organizationId, { limit, offset })).map(recordOf),
      meta: { total: await webhooks.count(organizationId), limit, offset },
    }),
    createWebhook: async ({ body }, { organizationId }) =>
      found(await webhooks.create(organizationId, content(body), limits.savedObjects)),
    replaceWebhook: async ({ params: { webhookId: id }, body }, { organizationId, expected }) => {
      found(await webhooks.find(organizationId, id));
      return found(await webhooks.replace(organizationId, id, content(body), expected));
    },
    deleteWebhook: async ({ params }, { organizationId, expected }) => {
      if (!(await webhooks.delete(organizationId, params.webhookId, expected))) found(undefined);
      return {};
    },
  };
}

function recordOf({ description, body, ...webhook }: Webhook): WebhookRecord {
  return { ...webhook, ...(description === null ? {} : { description }), ...(body === null ? {} : { body }) };
}
