/** Rows of the database users of services. */
import type { AccessRights } from "../clickhouse/access-change.ts";
import type { Queries } from "./database.ts";
import { readRights } from "./sql-access.ts";

type UserRow = {
  readonly service_id: string;
  readonly name: string;
  readonly password_sha256: string;
  readonly readonly: number;
  readonly rights: string | null;
  readonly created_at: string;
};

/** A database user of a service. */
export type ServiceUser = {
  readonly serviceId: string;
  readonly name: string;
  readonly passwordSha256: string;
  readonly readonly: boolean;
  /** Granted by statements; null for a user of the management API, who has all rights or only reads. */
  readonly rights: AccessRights | null;
  readonly createdAt: string;
};

/** The users of a service by their age, or of all services. Rejects with STORED_STATE_UNREADABLE. */
export async function readServiceUsers(db: Queries, serviceId?: string): Promise<ServiceUser[]> {
  const rows = await (serviceId === undefined
    ? db.all<UserRow>("SELECT * FROM service_users")
    : db.all<UserRow>("SELECT * FROM service_users WHERE service_id = ? ORDER BY created_at, name", serviceId));
  return rows.map((row) => ({
    serviceId: row.service_id,
    name: row.name,
    passwordSha256: row.password_sha256,
    readonly: row.readonly === 1,
    rights: row.rights === null ? null : readRights(row.rights),
    createdAt: row.created_at,
  }));
}
