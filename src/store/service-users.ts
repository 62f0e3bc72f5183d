/** Database users of services, as they are stored. */
import type { Queries } from "./database.ts";

type UserRow = {
  readonly service_id: string;
  readonly name: string;
  readonly password_sha256: string;
  readonly readonly: number;
  readonly created_at: string;
};

/** A database user of a service. */
export type ServiceUser = {
  readonly serviceId: string;
  readonly name: string;
  readonly passwordSha256: string;
  readonly readonly: boolean;
  readonly createdAt: string;
};

/** The users of one service, in the order of their creation. */
export async function usersOf(db: Queries, serviceId: string): Promise<ServiceUser[]> {
  const all = "SELECT * FROM service_users WHERE service_id = ? ORDER BY created_at, name";
  return (await db.all<UserRow>(all, serviceId)).map(toUser);
}

/** The users of all services. */
export async function allUsers(db: Queries): Promise<ServiceUser[]> {
  return (await db.all<UserRow>("SELECT * FROM service_users")).map(toUser);
}

function toUser(row: UserRow): ServiceUser {
  return {
    serviceId: row.service_id,
    name: row.name,
    passwordSha256: row.password_sha256,
    readonly: row.readonly === 1,
    createdAt: row.created_at,
  };
}
