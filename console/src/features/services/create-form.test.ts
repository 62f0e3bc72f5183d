import { expect, test } from "vitest";
import { accessListOf, defaultForm, serviceBodyOf, tagsOf } from "./create-form.ts";

test("what the user leaves empty is left to the server", () => {
  expect(serviceBodyOf({ ...defaultForm, name: "a" })).toEqual({
    name: "a",
    idleScaling: true,
    idleTimeoutMinutes: 15,
    ipAccessList: [
      { source: "127.0.0.1", description: "This machine" },
      { source: "::1", description: "This machine" },
    ],
  });
});

test("text that is not a number reaches the server, which says what is wrong", () => {
  const body = serviceBodyOf({ ...defaultForm, name: "a", disk: "ten", access: "anywhere", idle: false, memory: "8" });
  expect(body).toEqual({
    ...{ name: "a", diskGb: "ten", idleScaling: false },
    ...{ minReplicaMemoryGb: 8, maxReplicaMemoryGb: 8 },
  });
});

test("lists ignore empty lines, and tags may have no value", () => {
  const form = { ...defaultForm, access: "list", addresses: " 10.0.0.0/8\n\n::1 , 1.2.3.4" } as const;
  expect(accessListOf(form).map(({ source }) => source)).toEqual(["10.0.0.0/8", "::1", "1.2.3.4"]);
  expect(tagsOf("a=1, b ,c=x=y,")).toEqual([{ key: "a", value: "1" }, { key: "b" }, { key: "c", value: "x=y" }]);
});
