/** Users, roles and grants that statements make within services. */
import type { AccessChange, AccessRights } from "../../clickhouse/access-change.ts";
import { versioned } from "../../sources/contract/durable.ts";
import { type AccessEntities, type AccessUser, changedEntities } from "../access/access-entities.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import type { Queries } from "../database/database.ts";
import { type Limit, requireRoom } from "../database/limits.ts";
import { Store, upsertRow } from "../database/records.ts";

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
      const createdAt = new Date().toISOString();
      const users = await writeChanged(
        { tx, serviceId, table: "service_users" },
        before.users,
        after.users,
        userMembers,
        { readonly: false, createdAt },
      );
      const roles = await writeChanged(
        { tx, serviceId, table: "service_roles" },
        before.roles,
        after.roles,
        roleMembers,
        { createdAt },
      );
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

type Place = { readonly tx: Queries; readonly serviceId: string; readonly table: string };

/** Returns whether anything has changed. Rows that are added get the members of `first`, too. */
async function writeChanged<T>(
  { tx, serviceId, table }: Place,
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  membersOf: (entity: T) => object,
  first: object,
): Promise<boolean> {
  const gone = [...before.keys()].filter((name) => !after.has(name));
  for (const name of gone) await tx.run(`DELETE FROM ${table} WHERE service_id = ? AND name = ?`, serviceId, name);
  const changed = [...after].filter(([name, entity]) => JSON.stringify(before.get(name)) !== JSON.stringify(entity));
  for (const [name, entity] of changed) await upsertRow(tx, table, { serviceId, name }, membersOf(entity), first);
  return gone.length + changed.length > 0;
}

function userMembers({ passwordSha256, rights }: AccessUser) {
  return { passwordSha256, ...roleMembers(rights as AccessRights) };
}

function roleMembers({ grants, roles }: AccessRights) {
  return { rights: versioned({ grants, roles }) };
}
