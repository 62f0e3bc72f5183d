import { expect, test } from "vitest";
import { addressOf, groups, queryOf } from "./activity-search.ts";

test("every group of types is one that the API accepts", () => {
  for (const { types } of groups) expect(types).toMatch(/^[a-z_]{1,64}(,[a-z_]{1,64}){0,49}$/);
});

test("filters become a request; its start moves by whole minutes", () => {
  const now = Date.parse("2026-11-22T12:00:42Z");
  expect(queryOf({ group: "failures", range: "1h", actor: "system" }, now)).toMatchObject({
    type: groups[0]?.types,
    actor: "system",
    from: "2026-11-22T11:00:00.000Z",
  });
  expect(queryOf({ group: "failures", type: "pipe_create" }, now)).toMatchObject({ type: "pipe_create" });
});

test("objects link to their screen unless they are gone", () => {
  const activity = {
    id: "1",
    createdAt: "2026-11-22T12:00:00Z",
    actorType: "api" as const,
    organizationId: "o",
    objectId: "b",
    serviceId: "s",
  };
  expect(addressOf({ ...activity, objectType: "backup", type: "backup_done" })).toEqual({
    to: "/backups/$serviceId/$backupId",
    params: { serviceId: "s", backupId: "b" },
  });
  expect(addressOf({ ...activity, objectType: "backup", type: "backup_delete" })).toBeUndefined();
});
