/** Users, roles and grants that statements make within services. */
import type { AccessChange, AccessRights } from "../../clickhouse/access-change.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { type AccessEntities, type AccessUser, changedEntities } from "../access/access-entities.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import type { Queries } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { Store } from "../database/records.ts";

export type ServiceRole = { readonly name: string; readonly rights: AccessRights };

type UserRow = { readonly name: string; readonly password_sha256: string; readonly rights: string | null };
type RoleRow = { readonly name: string; readonly rights: string };

export class SqlAccessStore extends Store {
  /** In the order of their names. Rejects with STORED_STATE_UNREADABLE when rights are not those of this server. */
  async rolesOf(serviceId: string): Promise<ServiceRole[]> {
    const rows = await this.db.all<RoleRow>(
      "SELECT name, rights FROM service_roles WHERE service_id = ? ORDER BY name",
      serviceId,
    );
    return rows.map(({ name, rights }) => ({ name, rights: readRights(rights, `role ${name}`) }));
  }

  /**
   * Applies a statement: all of it, or nothing. False when everything is so already. Rejects with the exception of a
   * ClickHouse server, or with LIMIT_REACHED: `limit` holds for users and for roles.
   */
  async apply(serviceId: string, change: AccessChange, limit: Limit): Promise<boolean> {
    return await this.db.transaction(async (tx) => {
      const before = await entitiesOf(tx, serviceId);
      const after = changedEntities(before, change);
      requireRoomFor(limit, "users of the service", before.users, after.users);
      requireRoomFor(limit, "roles of the service", before.roles, after.roles);
      const users = await writeUsers(tx, serviceId, before.users, after.users);
      const roles = await writeRoles(tx, serviceId, before.roles, after.roles);
      if (users || roles) await this.db.tellOthers(tx);
      return users || roles;
    });
  }
}

/** `owner` is named in the error. Throws STORED_STATE_UNREADABLE. */
export function readRights(json: string, owner: string): AccessRights {
  return readJson(columnShapes.accessRights, json, `rights of the ${owner}`);
}

async function entitiesOf(tx: Queries, serviceId: string): Promise<AccessEntities> {
  const users = await tx.all<UserRow>(
    "SELECT name, password_sha256, rights FROM service_users WHERE service_id = ?",
    serviceId,
  );
  const roles = await tx.all<RoleRow>("SELECT name, rights FROM service_roles WHERE service_id = ?", serviceId);
  return {
    users: new Map(
      users.map(({ name, password_sha256: passwordSha256, rights }) => [
        name,
        { passwordSha256, rights: rights === null ? null : readRights(rights, `user ${name}`) },
      ]),
    ),
    roles: new Map(roles.map(({ name, rights }) => [name, readRights(rights, `role ${name}`)])),
  };
}

type Names = { readonly size: number };

function requireRoomFor(limit: Limit, what: string, before: Names, after: Names): void {
  if (after.size > before.size) requireRoom(limit, what, before.size, after.size - before.size);
}

async function writeUsers(
  tx: Queries,
  serviceId: string,
  before: ReadonlyMap<string, AccessUser>,
  after: ReadonlyMap<string, AccessUser>,
): Promise<boolean> {
  const gone = [...before.keys()].filter((name) => !after.has(name));
  for (const name of gone) await tx.run("DELETE FROM service_users WHERE service_id = ? AND name = ?", serviceId, name);
  const changed = [...after].filter(([name, user]) => JSON.stringify(before.get(name)) !== JSON.stringify(user));
  for (const [name, { passwordSha256, rights }] of changed) {
    await tx.run(
      `INSERT INTO service_users (service_id, name, password_sha256, readonly, rights, created_at) VALUES (?, ?, ?, 0, ?, ?)
       ON CONFLICT (service_id, name) DO UPDATE SET password_sha256 = excluded.password_sha256, rights = excluded.rights`,
      ...[serviceId, name, passwordSha256, written(rights as AccessRights), new Date().toISOString()],
    );
  }
  return gone.length + changed.length > 0;
}

async function writeRoles(
  tx: Queries,
  serviceId: string,
  before: ReadonlyMap<string, AccessRights>,
  after: ReadonlyMap<string, AccessRights>,
): Promise<boolean> {
  const gone = [...before.keys()].filter((name) => !after.has(name));
  for (const name of gone) await tx.run("DELETE FROM service_roles WHERE service_id = ? AND name = ?", serviceId, name);
  const changed = [...after].filter(([name, rights]) => JSON.stringify(before.get(name)) !== JSON.stringify(rights));
  for (const [name, rights] of changed) {
    await tx.run(
      `INSERT INTO service_roles (service_id, name, rights, created_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (service_id, name) DO UPDATE SET rights = excluded.rights`,
      ...[serviceId, name, written(rights), new Date().toISOString()],
    );
  }
  return gone.length + changed.length > 0;
}

function written({ grants, roles }: AccessRights): string {
  return JSON.stringify(versioned({ grants, roles }));
}
