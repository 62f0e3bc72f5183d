/** Statements about users, roles and grants, applied to those of a service as the engine would. */
import { describe, expect, test } from "vitest";
import type { AccessChange, PrivilegeOn } from "../../clickhouse/access-change.ts";
import { type AccessEntities, changedEntities } from "./access-entities.ts";

const nothing: AccessEntities = {
  users: new Map([["default", { passwordSha256: "d", rights: null }]]),
  roles: new Map(),
};
const made = (names: string[]): AccessChange => ({
  type: "create users",
  names,
  ifPresent: "fail",
  passwordSha256: "p",
});
const roles = (names: string[]): AccessChange => ({ type: "create roles", names, ifPresent: "fail" });
const applied = (...changes: AccessChange[]) => changes.reduce(changedEntities, nothing);
const grantsOf = (entities: AccessEntities, name: string) => entities.users.get(name)?.rights?.grants;
const d = { name: "d" };
const onD: PrivilegeOn = { privilege: "SELECT", database: d };
const onT: PrivilegeOn = { ...onD, table: { name: "t" } };
const grant = (...privileges: PrivilegeOn[]): AccessChange => ({ type: "grant", privileges, names: ["a"] });
const revoke = (...privileges: PrivilegeOn[]): AccessChange => ({ type: "revoke", privileges, names: ["a"] });

describe("users and roles", () => {
  test("are created once, skipped or replaced", () => {
    const start = [made(["a"]), grant(onD)];
    expect(() => applied(...start, made(["b", "a"]))).toThrow("user `a` already exists");
    const again = { ...made(["a"]), passwordSha256: "q" };
    expect(applied(...start, { ...again, ifPresent: "skip" } as AccessChange).users.get("a")?.passwordSha256).toBe("p");
    const replaced = applied(...start, { ...again, ifPresent: "replace" } as AccessChange);
    expect(replaced.users.get("a")).toEqual({ passwordSha256: "q", rights: { grants: [], roles: [] } });
  });

  test("of the management API are out of reach", () => {
    const own = { ...nothing, users: new Map([["a", { passwordSha256: "p", rights: null }]]) };
    const changes: AccessChange[] = [
      grant(onD),
      { type: "drop users", names: ["a"], ifMissing: "skip" },
      { type: "set password", names: ["a"], ifMissing: "skip", passwordSha256: "x" },
      { ...made(["a"]), ifPresent: "replace" } as AccessChange,
      { ...made(["a"]), ifPresent: "skip" } as AccessChange,
    ];
    for (const change of changes) expect(() => changedEntities(own, change)).toThrow("management API");
  });

  test("a dropped role is taken from everybody who has it", () => {
    const granted: AccessChange = { type: "grant roles", roles: ["r"], names: ["a", "s"] };
    const entities = applied(made(["a"]), roles(["r", "s"]), granted, {
      type: "drop roles",
      names: ["r"],
      ifMissing: "fail",
    });
    expect([entities.users.get("a")?.rights?.roles, entities.roles.get("s")?.roles]).toEqual([[], []]);
    expect(() => applied(granted)).toThrow("There is no role `r`");
  });

  test("a role cannot reach itself", () => {
    const circle = (from: string, to: string): AccessChange => ({ type: "grant roles", roles: [from], names: [to] });
    expect(() => applied(roles(["r", "s", "t"]), circle("r", "s"), circle("s", "t"), circle("t", "r"))).toThrow(
      "to itself",
    );
  });

  test("what a statement names and is not there stops all of it", () => {
    expect(() => applied(made(["a"]), { ...grant(onD), names: ["a", "x"] } as AccessChange)).toThrow(
      "no user or role `x`",
    );
    expect(() => applied({ type: "drop users", names: ["x"], ifMissing: "fail" })).toThrow("There is no user `x`");
    expect(applied({ type: "drop users", names: ["x"], ifMissing: "skip" })).toEqual(nothing);
  });
});

describe("grants", () => {
  test.each<[string, AccessChange[], unknown]>([
    ["are kept once", [grant(onD), grant(onD)], [onD]],
    ["are gone when they are revoked", [grant(onD), revoke(onD)], []],
    ["can be revoked in part", [grant(onD), revoke(onT)], [onD, { ...onT, revoked: true }]],
    ["hold again after a revocation", [grant(onD), revoke(onT), grant(onT)], [onD, onT]],
    ["hold again in whole", [grant(onD), revoke(onT), grant(onD)], [{ ...onT, revoked: true }, onD]],
    ["need not be there to be revoked", [revoke(onD)], []],
    ["are all gone together", [grant(onD, onT), { type: "revoke all", names: ["a"] }], []],
  ])("%s", (_, changes, grants) => {
    expect(grantsOf(applied(made(["a"]), ...changes), "a")).toEqual(grants);
  });

  test("are bounded", () => {
    const many = Array.from({ length: 1_001 }, (_, i) => ({ ...onD, database: { name: `d${i}` } }));
    expect(() => applied(made(["a"]), grant(...many))).toThrow("can have 1000 grants");
  });
});
