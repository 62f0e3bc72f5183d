/** Rows of the database users of services. */
import { type AccessRights, noRights } from "../../clickhouse/access-change.ts";
import { AppError } from "../../lib/errors.ts";
import { insertRow, readFlag, recordReader } from "../database/columns.ts";
import { type Database, type Queries, runAndTell, type StoredColumns } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { countRows } from "../database/records.ts";
import { readRights } from "./sql-access.ts";

type UserRow = StoredColumns & { readonly name: string; readonly rights: string | null };

/** A database user of a service. */
export type ServiceUser = {
  readonly serviceId: string;
  readonly name: string;
  readonly passwordSha256: string;
  readonly readonly: boolean;
  /** Granted by statements; null for a user of the management API, who has all rights or only reads. */
  readonly rights: AccessRights | null;
  /** Why the rights cannot be read, as a sentence: then they are empty. */
  readonly problem: string | undefined;
  readonly createdAt: string;
};

const withoutRights = recordReader<Omit<ServiceUser, "rights" | "problem">>()(
  ["serviceId name passwordSha256 readonly createdAt"],
  { readonly: readFlag },
);

/** The users of a service by their age, or of all services. */
export async function readServiceUsers(db: Queries, serviceId?: string): Promise<ServiceUser[]> {
  const rows = await (serviceId === undefined
    ? db.all<UserRow>("SELECT * FROM service_users")
    : db.all<UserRow>("SELECT * FROM service_users WHERE service_id = ? ORDER BY created_at, name", serviceId));
  return rows.map((row) => ({ ...withoutRights(row), ...rightsOf(row) }));
}

/** Rights that cannot be read must not hide the other users: they are empty, so that nothing is allowed by them. */
function rightsOf({ name, rights }: UserRow): Pick<ServiceUser, "rights" | "problem"> {
  if (rights === null) return { rights, problem: undefined };
  try {
    return { rights: readRights(rights, `user ${name}`), problem: undefined };
  } catch (error) {
    const problem = error instanceof AppError ? error.message : `The stored rights of the user ${name} cannot be read.`;
    return { rights: noRights, problem };
  }
}

export type NewServiceUser = Omit<ServiceUser, "createdAt" | "rights" | "problem">;

/** Returns false when the user exists. Throws LIMIT_REACHED. */
export async function addServiceUser(db: Database, user: NewServiceUser, limit: Limit): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const row = { ...user, createdAt: new Date().toISOString() };
    const added = await insertRow(tx, "service_users", row, "ON CONFLICT (service_id, name) DO NOTHING");
    if (added === 0) return false;
    const present = await countRows(tx, "service_users", "WHERE service_id = ?", user.serviceId);
    requireRoom(limit, "users of the service", present - 1);
    await db.tellOthers(tx);
    return true;
  });
}

/** `passwordSha256` in hexadecimal digits. */
export async function setServicePassword(db: Database, serviceId: string, name: string, passwordSha256: string) {
  await runAndTell(
    db,
    "UPDATE service_users SET password_sha256 = ? WHERE service_id = ? AND name = ?",
    ...[passwordSha256, serviceId, name],
  );
}

/** Returns false when there was no such user. */
export async function removeServiceUser(db: Database, serviceId: string, name: string): Promise<boolean> {
  const gone = "DELETE FROM service_users WHERE service_id = ? AND name = ?";
  return (await runAndTell(db, gone, serviceId, name)) === 1;
}
