/** Webhooks of the observability API. Headers and query parameters go in, and never come out. */

import type { KeyRole } from "../../../api/keys.ts";
import type { WebhookBody, WebhookRecord, webhookOperations } from "../../../api/webhooks.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import type { OutgoingPolicy } from "../../../outgoing/policy.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { Stores } from "../../../store/open.ts";
import type { Webhook, WebhookContent } from "../../../store/saved/webhooks.ts";
import { foundObject, type Observability } from "../lookups.ts";

export type WebhookDeps = Pick<Stores, "webhooks"> & {
  /** Where webhooks may be. */
  readonly policy: OutgoingPolicy;
  readonly limits: OrganizationLimits;
};

type Names = keyof typeof webhookOperations;

export function webhookHandlers({ webhooks, policy, limits }: WebhookDeps): Observability<Names> {
  const dialer = new Dialer(policy, "url");
  const found = (webhook: Webhook | undefined, role: KeyRole) => ({
    data: recordOf(foundObject(webhook, "Webhook"), role),
  });
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
    listWebhooks: async ({ query: { limit, offset } }, { organizationId, role }) => ({
      data: (await webhooks.list(organizationId, { limit, offset })).map((webhook) => recordOf(webhook, role)),
      meta: { total: await webhooks.count(organizationId), limit, offset },
    }),
    createWebhook: async ({ body }, { organizationId, role }) =>
      found(await webhooks.create(organizationId, content(body), limits.savedObjects), role),
    replaceWebhook: async ({ params: { webhookId: id }, body }, { organizationId, role, expected }) => {
      found(await webhooks.find(organizationId, id), role);
      return found(await webhooks.replace(organizationId, id, content(body), expected), role);
    },
    deleteWebhook: async ({ params }, { organizationId, role, expected }) => {
      if (!(await webhooks.delete(organizationId, params.webhookId, expected))) found(undefined, role);
      return {};
    },
  };
}

/** Clients that compare what they have sent with what is there need the URL. Others could send in our name with it. */
function recordOf({ description, body, url, ...webhook }: Webhook, role: KeyRole): WebhookRecord {
  return {
    ...webhook,
    ...(description === null ? {} : { description }),
    ...(body === null ? {} : { body }),
    ...(role === "admin" && url !== undefined ? { url } : {}),
  };
}
