/** Applies statements about users, roles and grants to those of one service. The meaning is that of the engine. */
import {
  type AccessChange,
  type AccessRights,
  type Grant,
  noRights,
  type PrivilegeOn,
} from "../../clickhouse/access-change.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";

export type AccessUser = {
  readonly passwordSha256: string;
  /** Null: the management API has made the user, and statements cannot change it. */
  readonly rights: AccessRights | null;
};

/** By name. */
export type AccessEntities = {
  readonly users: ReadonlyMap<string, AccessUser>;
  readonly roles: ReadonlyMap<string, AccessRights>;
};

/** Grants and revocations of one user or role. */
const maxGrants = 1_000;

type Change<Type extends AccessChange["type"]> = Extract<AccessChange, { readonly type: Type }>;

/** A copy with the change. Throws the exception of a ClickHouse server for names that exist or do not. */
export function changedEntities(before: AccessEntities, change: AccessChange): AccessEntities {
  const entities = { users: new Map(before.users), roles: new Map(before.roles) };
  switch (change.type) {
    case "create users":
      createUsers(entities, change);
      break;
    case "set password":
      setPassword(entities, change);
      break;
    case "create roles":
      createRoles(entities, change);
      break;
    case "drop users":
      for (const name of change.names) if (findUser(entities, name, change.ifMissing)) entities.users.delete(name);
      break;
    case "drop roles":
      for (const name of change.names) dropRole(entities, name, change.ifMissing);
      break;
    default:
      changeRights(entities, change);
  }
  return entities;
}

type Entities = { readonly users: Map<string, AccessUser>; readonly roles: Map<string, AccessRights> };

function createUsers(entities: Entities, { names, ifPresent, passwordSha256 }: Change<"create users">): void {
  for (const name of names) {
    const present = entities.users.get(name);
    if (present?.rights === null) refuseOthers(name);
    if (present !== undefined && ifPresent === "fail") refusePresent(`user \`${name}\``);
    if (present !== undefined && ifPresent === "skip") continue;
    entities.users.set(name, { passwordSha256, rights: noRights });
  }
}

function setPassword(entities: Entities, { names, ifMissing, passwordSha256 }: Change<"set password">): void {
  for (const name of names) {
    const user = findUser(entities, name, ifMissing);
    if (user !== undefined) entities.users.set(name, { ...user, passwordSha256 });
  }
}

function createRoles(entities: Entities, { names, ifPresent }: Change<"create roles">): void {
  for (const name of names) {
    const isPresent = entities.roles.has(name);
    if (isPresent && ifPresent === "fail") refusePresent(`role \`${name}\``);
    if (!isPresent || ifPresent === "replace") entities.roles.set(name, noRights);
  }
}

function dropRole(entities: Entities, name: string, ifMissing: "fail" | "skip"): void {
  if (!entities.roles.delete(name)) {
    if (ifMissing === "fail") refuseUnknownRole(name);
    return;
  }
  const without = (rights: AccessRights) => ({ ...rights, roles: rights.roles.filter((role) => role !== name) });
  for (const [role, rights] of entities.roles) entities.roles.set(role, without(rights));
  for (const [user, { rights, ...rest }] of entities.users) {
    if (rights !== null) entities.users.set(user, { ...rest, rights: without(rights) });
  }
}

type RightsChange = Change<"grant" | "revoke" | "revoke all" | "grant roles" | "revoke roles">;

function changeRights(entities: Entities, change: RightsChange): void {
  if ("roles" in change) {
    for (const role of change.roles) if (!entities.roles.has(role)) refuseUnknownRole(role);
  }
  for (const name of change.names) {
    const user = entities.users.get(name);
    const role = user === undefined ? entities.roles.get(name) : undefined;
    if (user === undefined && role === undefined) {
      throw clickHouseException("UNKNOWN_ROLE", `There is no user or role \`${name}\`.`);
    }
    if (user?.rights === null) refuseOthers(name);
    const rights = changedRights((user?.rights ?? role) as AccessRights, change);
    if (rights.grants.length > maxGrants) {
      throw clickHouseException("BAD_ARGUMENTS", `\`${name}\` can have ${maxGrants} grants; a role can hold more.`);
    }
    if (user !== undefined) entities.users.set(name, { ...user, rights });
    else {
      entities.roles.set(name, rights);
      if (reaches(entities.roles, name, name)) {
        throw clickHouseException("BAD_ARGUMENTS", `Role \`${name}\` would be granted to itself.`);
      }
    }
  }
}

function changedRights(rights: AccessRights, change: RightsChange): AccessRights {
  switch (change.type) {
    case "grant":
      return { ...rights, grants: change.privileges.reduce(granted, rights.grants) };
    case "revoke":
      return { ...rights, grants: change.privileges.reduce(revoked, rights.grants) };
    case "revoke all":
      return { ...rights, grants: [] };
    case "grant roles":
      return { ...rights, roles: [...new Set([...rights.roles, ...change.roles])].sort() };
    case "revoke roles":
      return { ...rights, roles: rights.roles.filter((role) => !change.roles.includes(role)) };
  }
}

/** An earlier grant of the same has no effect beside the later one. */
function granted(grants: readonly Grant[], privilege: PrivilegeOn): readonly Grant[] {
  const last = grants.findLastIndex((grant) => isSame(grant, privilege));
  // What follows could take from it: only then the order matters.
  const isEffective = last >= 0 && !grants.slice(last).some((grant) => grant.revoked === true);
  if (isEffective) return grants;
  return [...grants.filter((grant) => !isSame(grant, privilege)), privilege];
}

function revoked(grants: readonly Grant[], privilege: PrivilegeOn): readonly Grant[] {
  const others = grants.filter((grant) => !isSame(grant, privilege));
  // Revocations that nothing precedes take nothing.
  const first = others.findIndex((grant) => grant.revoked !== true);
  return first < 0 ? [] : [...others.slice(first), { ...privilege, revoked: true }];
}

function isSame(a: PrivilegeOn, b: PrivilegeOn): boolean {
  return keyOf(a) === keyOf(b);
}

function keyOf({ privilege, columns, database, table, object }: PrivilegeOn): string {
  return JSON.stringify([privilege, columns, database?.name, database?.prefix, table?.name, table?.prefix, object]);
}

/** True when the role has the other one, directly or through roles. */
function reaches(roles: ReadonlyMap<string, AccessRights>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const next = [...(roles.get(from)?.roles ?? [])];
  for (let role = next.pop(); role !== undefined; role = next.pop()) {
    if (role === to) return true;
    if (seen.has(role)) continue;
    seen.add(role);
    next.push(...(roles.get(role)?.roles ?? []));
  }
  return false;
}

function findUser(entities: Entities, name: string, ifMissing: "fail" | "skip"): AccessUser | undefined {
  const user = entities.users.get(name);
  if (user?.rights === null) refuseOthers(name);
  if (user === undefined && ifMissing === "fail") {
    throw clickHouseException("UNKNOWN_USER", `There is no user \`${name}\`.`);
  }
  return user;
}

function refusePresent(what: string): never {
  throw clickHouseException("ACCESS_ENTITY_ALREADY_EXISTS", `${what} already exists.`);
}

function refuseUnknownRole(name: string): never {
  throw clickHouseException("UNKNOWN_ROLE", `There is no role \`${name}\`.`);
}

function refuseOthers(name: string): never {
  throw clickHouseException(
    "ACCESS_DENIED",
    `The management API has made the user \`${name}\`: statements cannot change it.`,
  );
}
