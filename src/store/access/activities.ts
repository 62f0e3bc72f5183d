/**
 * Activities: requests that changed something, and changes of states. Requests are recorded by the HTTP edge, states in
 * the transactions that write them. Logins and refusals are in the audit trail instead.
 */
import type { Queries, SqlValue } from "../database/database.ts";
import { Store } from "../database/records.ts";

export type ObjectType =
  | "organization"
  | "service"
  | "serviceUser"
  | "pipe"
  | "backup"
  | "restore"
  | "key"
  | "accessToken"
  | "leftover"
  | "source";

export type Actor = {
  /** Id of the key or token; its name is looked up. */
  readonly id: string;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
};

export type NewActivity = {
  readonly organizationId: string;
  readonly type: string;
  /** Undefined: the system itself. */
  readonly actor?: Actor | undefined;
  readonly serviceId?: string | null | undefined;
  readonly object: { readonly type: string; readonly id: string; readonly name?: string | null | undefined };
  readonly reason?: string | null | undefined;
  /** Names of changed members, never values. */
  readonly fields?: readonly string[] | undefined;
};

export type ActivityRecord = {
  readonly id: string;
  readonly organizationId: string;
  readonly type: string;
  readonly createdAt: string;
  readonly actorId: string | null;
  readonly actorName: string | null;
  readonly actorAddress: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
  readonly serviceId: string | null;
  readonly objectType: string;
  readonly objectId: string;
  readonly objectName: string | null;
  readonly reason: string | null;
  readonly fields: readonly string[] | null;
};

export type ActivityFilter = {
  readonly types?: readonly string[] | undefined;
  /** Id of an object; of a service also everything that belongs to it. */
  readonly object?: string | undefined;
  /** Id of a key or token, or `system`. */
  readonly actor?: string | undefined;
  /** ISO 8601 in UTC: from included, to excluded. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/** Longer texts are truncated: some come from clients. */
const maxUserAgent = 200;
const maxReason = 2_000;

/** Adds an activity within a transaction. */
export async function addActivity(tx: Queries, { object, actor, ...activity }: NewActivity): Promise<void> {
  const named = actor === undefined ? undefined : await actorName(tx, actor.id);
  await tx.run(
    `INSERT INTO activities (organization_id, type, created_at, actor_id, actor_name, actor_address, user_agent,
       request_id, service_id, object_type, object_id, object_name, reason, fields)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[activity.organizationId, activity.type, new Date().toISOString(), actor?.id ?? null, named ?? null],
    ...[actor?.address ?? null, actor?.userAgent?.slice(0, maxUserAgent) ?? null, actor?.requestId ?? null],
    ...[activity.serviceId ?? null, object.type, object.id, object.name ?? null],
    ...[
      activity.reason?.slice(0, maxReason) ?? null,
      activity.fields === undefined ? null : JSON.stringify(activity.fields),
    ],
  );
}

async function actorName(tx: Queries, id: string): Promise<string | undefined> {
  const both = "SELECT name FROM api_keys WHERE id = ? UNION ALL SELECT name FROM access_tokens WHERE id = ?";
  return (await tx.get<{ name: string }>(both, id, id))?.name;
}

const nameQueries: Readonly<Record<string, string>> = {
  organization: "SELECT name FROM organizations WHERE id = ?",
  service: "SELECT name FROM services WHERE id = ?",
  pipe: "SELECT name FROM pipes WHERE id = ?",
  backup: "SELECT name FROM backups WHERE id = ?",
  key: "SELECT name FROM api_keys WHERE id = ?",
  accessToken: "SELECT name FROM access_tokens WHERE id = ?",
  leftover: "SELECT name FROM leftovers WHERE id = ?",
  source: "SELECT name FROM chart_sources WHERE id = ?",
  // A draft is a matter of its key alone, and has no name here.
  savedObject: "SELECT name FROM saved_objects WHERE id = ? AND private_to IS NULL",
  savedSearch: "SELECT name FROM saved_objects WHERE id = ?",
  dashboard: "SELECT name FROM saved_objects WHERE id = ?",
  webhook: "SELECT name FROM webhooks WHERE id = ?",
};

type ActivityRow = Omit<ActivityRecord, "id" | "fields"> & { readonly seq: number; readonly fields: string | null };

const columns = `seq, organization_id AS "organizationId", type, created_at AS "createdAt", actor_id AS "actorId",
  actor_name AS "actorName", actor_address AS "actorAddress", user_agent AS "userAgent", request_id AS "requestId",
  service_id AS "serviceId", object_type AS "objectType", object_id AS "objectId", object_name AS "objectName", reason, fields`;

export class ActivityStore extends Store {
  async add(activity: NewActivity): Promise<void> {
    await this.db.transaction((tx) => addActivity(tx, activity));
  }

  /** The present name of an object; undefined when it has none, or does not exist. */
  async nameOf(type: string, id: string): Promise<string | undefined> {
    const query = nameQueries[type];
    return query === undefined ? undefined : (await this.db.get<{ name: string }>(query, id))?.name;
  }

  async find(organizationId: string, id: string): Promise<ActivityRecord | undefined> {
    const one = `SELECT ${columns} FROM activities WHERE organization_id = ? AND seq = ?`;
    const row = await this.db.get<ActivityRow>(one, organizationId, Number(id));
    return row && toActivity(row);
  }

  /** Newest first, up to `limit`, and older than the activity `before`. */
  async list(
    organizationId: string,
    filter: ActivityFilter,
    limit: number,
    before?: string,
  ): Promise<ActivityRecord[]> {
    const types = filter.types ?? [];
    const conditions: (readonly [sql: string, ...values: SqlValue[]] | undefined)[] = [
      ["organization_id = ?", organizationId],
      before === undefined ? undefined : ["seq < ?", Number(before)],
      types.length === 0 ? undefined : [`type IN (${types.map(() => "?").join(", ")})`, ...types],
      filter.object === undefined ? undefined : ["(object_id = ? OR service_id = ?)", filter.object, filter.object],
      filter.actor === undefined ? undefined : actorCondition(filter.actor),
      filter.from === undefined ? undefined : ["created_at >= ?", filter.from],
      filter.to === undefined ? undefined : ["created_at < ?", filter.to],
    ];
    const given = conditions.filter((condition) => condition !== undefined);
    const rows = await this.db.all<ActivityRow>(
      `SELECT ${columns} FROM activities WHERE ${given.map(([sql]) => sql).join(" AND ")} ORDER BY seq DESC LIMIT ?`,
      ...given.flatMap(([, ...values]) => values),
      limit,
    );
    return rows.map(toActivity);
  }

  /** Deletes what is older than `before` (ISO 8601), and of each organization all but the newest `most`. */
  async trim(before: string, most: number): Promise<void> {
    const stale = "SELECT 1 AS found FROM activities WHERE created_at < ? LIMIT 1";
    const full = "SELECT organization_id AS id FROM activities GROUP BY organization_id HAVING count(*) > ?";
    const organizations = await this.db.all<{ id: string }>(full, most);
    // A write ends the cache of all responses, also when it changes nothing.
    if ((await this.db.get(stale, before)) !== undefined) {
      await this.db.run("DELETE FROM activities WHERE created_at < ?", before);
    }
    for (const { id } of organizations) {
      await this.db.run(
        `DELETE FROM activities WHERE organization_id = ? AND seq <=
           (SELECT seq FROM activities WHERE organization_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
        ...[id, id, most],
      );
    }
  }
}

function actorCondition(actor: string): readonly [string, ...SqlValue[]] {
  return actor === "system" ? ["actor_id IS NULL"] : ["actor_id = ?", actor];
}

function toActivity({ seq, fields, ...row }: ActivityRow): ActivityRecord {
  return { ...row, id: String(seq), fields: fields === null ? null : (JSON.parse(fields) as string[]) };
}
