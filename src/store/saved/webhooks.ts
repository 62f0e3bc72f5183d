/** Webhooks of organizations. URL, headers and query parameters are sealed. */

import { randomUUID } from "node:crypto";
import { AppError, badRequest, refuseIssues } from "../../lib/errors.ts";
import { insertRow, recordReader } from "../database/columns.ts";
import type { Queries, StoredColumns } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { countRows, type ListPart, SealingStore } from "../database/records.ts";
import {
  deleteVersioned,
  type ExpectedVersions,
  updateVersioned,
  type VersionedRecord,
} from "../database/versioned-rows.ts";

export type WebhookService = "slack" | "incidentio" | "generic";

/** Without headers and query parameters, which are sealed. */
export type Webhook = {
  readonly id: string;
  readonly name: string;
  readonly service: WebhookService;
  readonly description: string | null;
  /** Template of the body. */
  readonly body: string | null;
  /** May hold a secret. Undefined when it was sealed with another key. */
  readonly url: string | undefined;
  /** Raised by every replacement. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type WebhookSecrets = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly queryParams?: Readonly<Record<string, string>> | undefined;
};

export type WebhookContent = Pick<Webhook, "name" | "service" | "description" | "body"> & {
  readonly secrets: WebhookSecrets;
};

const withoutUrl = recordReader<Omit<Webhook, "url">>()(
  ["id name service description body version createdAt updatedAt"],
  {},
);

type SealedRow = StoredColumns & { readonly id: string; readonly secrets: string };

export class WebhookStore extends SealingStore {
  /** Throws LIMIT_REACHED, and BAD_REQUEST for a name that is in use. */
  async create(organizationId: string, content: WebhookContent, limit: Limit): Promise<Webhook> {
    const { name, service, description, body } = content;
    const [id, now] = [randomUUID(), new Date().toISOString()];
    const webhook = { id, name, service, description, body, version: 1, createdAt: now, updatedAt: now };
    await this.db.transaction(async (tx) => {
      const present = await tx.get<{ n: number; same: number | null }>(
        `SELECT count(*) AS n, sum(CASE WHEN service = ? AND name = ? THEN 1 ELSE 0 END) AS same
         FROM webhooks WHERE organization_id = ?`,
        ...[service, name, organizationId],
      );
      if (Number(present?.same ?? 0) > 0) throw nameInUse();
      requireRoom(limit, "webhooks of the organization", Number(present?.n ?? 0));
      const secrets = this.sealer.seal(content.secrets, contextOf(id));
      await insertRow(tx, "webhooks", { ...webhook, organizationId, secrets });
    });
    return { ...webhook, url: content.secrets.url };
  }

  /** Oldest first. */
  async list(organizationId: string, { limit, offset }: ListPart): Promise<Webhook[]> {
    const page = "SELECT * FROM webhooks WHERE organization_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?";
    return (await this.db.all<SealedRow>(page, organizationId, limit, offset)).map((row) => this.#toWebhook(row));
  }

  async count(organizationId: string): Promise<number> {
    return await countRows(this.db, "webhooks", "WHERE organization_id = ?", organizationId);
  }

  async find(organizationId: string, id: string): Promise<Webhook | undefined> {
    const row = await rowOf(this.db, organizationId, id);
    return row && this.#toWebhook(row);
  }

  /** The webhook with its secrets, which are undefined when they were sealed with another key; undefined for none. */
  async open(
    organizationId: string,
    id: string,
  ): Promise<(Webhook & { readonly secrets: WebhookSecrets | undefined }) | undefined> {
    const row = await rowOf(this.db, organizationId, id);
    return row && { ...this.#toWebhook(row), secrets: this.sealer.tryOpen<WebhookSecrets>(row.secrets, contextOf(id)) };
  }

  /**
   * Returns the new webhook, or undefined when there is none with this id. Headers and query parameters that are
   * undefined stay as they are. Throws PRECONDITION_FAILED, and BAD_REQUEST for a name that is in use or a URL of
   * another server without them.
   */
  async replace(
    organizationId: string,
    id: string,
    content: WebhookContent,
    expected?: ExpectedVersions,
  ): Promise<Webhook | undefined> {
    const { name, service, description, body } = content;
    await this.db.transaction(async (tx) => {
      const row = await rowOf(tx, organizationId, id);
      if (row === undefined) return;
      const other = "SELECT id FROM webhooks WHERE organization_id = ? AND service = ? AND name = ? AND id <> ?";
      if ((await tx.get(other, organizationId, service, name, id)) !== undefined) throw nameInUse();
      const former = this.sealer.tryOpen<WebhookSecrets>(row.secrets, contextOf(id));
      refuseRedirect(former, content.secrets);
      const secrets = {
        url: content.secrets.url,
        headers: content.secrets.headers ?? former?.headers,
        queryParams: content.secrets.queryParams ?? former?.queryParams,
      };
      const columns = {
        ...{ name, service, description, body, secrets: this.sealer.seal(secrets, contextOf(id)) },
        updated_at: new Date().toISOString(),
      };
      await updateVersioned(tx, webhookRow(organizationId, id), columns, expected);
    });
    return await this.find(organizationId, id);
  }

  /** Returns whether there was such a webhook. Throws PRECONDITION_FAILED, and CONFLICT while an alert uses it. */
  async delete(organizationId: string, id: string, expected?: ExpectedVersions): Promise<boolean> {
    return await this.db.transaction(async (tx) => {
      const users = await countRows(tx, "alerts", "WHERE organization_id = ? AND webhook_id = ?", organizationId, id);
      if (users > 0) {
        const alerts = users === 1 ? "An alert uses" : `${users} alerts use`;
        throw new AppError("CONFLICT", `${alerts} the webhook; give them another one, or delete them first.`);
      }
      return await deleteVersioned(tx, webhookRow(organizationId, id), expected);
    });
  }

  #toWebhook(row: SealedRow): Webhook {
    const url = this.sealer.tryOpen<WebhookSecrets>(row.secrets, contextOf(row.id))?.url;
    return { ...withoutUrl(row), url };
  }
}

async function rowOf(db: Queries, organizationId: string, id: string): Promise<SealedRow | undefined> {
  return await db.get<SealedRow>("SELECT * FROM webhooks WHERE organization_id = ? AND id = ?", organizationId, id);
}

function webhookRow(organizationId: string, id: string): VersionedRecord {
  return { table: "webhooks", what: "webhook", key: { organization_id: organizationId, id } };
}

function contextOf(webhookId: string): string {
  return `webhook ${webhookId}`;
}

function nameInUse(): AppError {
  return badRequest("name", "is the name of another webhook of this service");
}

/** What is kept goes to the server that it was given for: a new URL must not have it sent to another one. */
function refuseRedirect(former: WebhookSecrets | undefined, next: WebhookSecrets): void {
  if (former === undefined || new URL(former.url).origin === new URL(next.url).origin) return;
  const kept = (["headers", "queryParams"] as const).filter(
    (name) => next[name] === undefined && Object.keys(former[name] ?? {}).length > 0,
  );
  const message = "must be given again with a URL of another server; {} removes them";
  refuseIssues(kept.map((path) => ({ path, message })));
}
