/** The names of the ClickHouse Cloud API: every one has a counterpart, and none leaves its room. */
import { expect, test } from "vitest";
import { ownOpenApi } from "../../scripts/generated-files.ts";
import { programFiles, read } from "../../scripts/house.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import {
  acceptedMembers,
  addedMembers,
  type CloudForm,
  cloudSettingNames,
  pathNames,
  refusedMembers,
  renames,
} from "../../src/cloud-api/dialect.ts";
import { cloudNames, toOurs, toTheirs } from "../../src/cloud-api/names.ts";
import { cloudRoutes } from "../../src/cloud-api/routes.ts";
import { sourceKinds } from "../../src/sources/contract/registry.ts";

const room = "src/cloud-api/";
/** Words that are ours as well, in another sense or for the same thing. */
const shared = new Set([
  ...["kafka", "kinesis", "postgres", "mongodb", "profile", "serviceAccountKey"],
  ...["endpoints", "ipAccessList", "privateEndpointIds", "tier"],
]);

test("no name of the dialect is used outside of its room", () => {
  const leaves = [
    ...Object.values(acceptedMembers).flatMap((members) => members.map(({ path }) => path)),
    ...Object.values(addedMembers).flatMap((members) => Object.keys(members)),
    ...Object.values(refusedMembers).flat(),
  ].map((path) => path.split(".").at(-1) as string);
  const ours = new Set(publicNames());
  const words = [...Object.values(cloudNames), ...Object.values(pathNames), ...leaves].filter(
    (word) => !shared.has(word) && !ours.has(word),
  );
  expect(words).toContain("clickhouse_max_threads");
  expect(words).toContain("autoscalingMode");
  const word = new RegExp(`\\b(${[...new Set(words)].join("|")})\\b`);
  const outside = programFiles().filter((file) => !file.startsWith(room));
  const found = outside.flatMap((file) => {
    const at = word.exec(read(file));
    return at === null ? [] : [`${file}: ${at[1]}`];
  });
  expect(found).toEqual([]);
});

/** Members of the management API, as the schemas of its requests and records name them. */
function publicNames(): string[] {
  const text = JSON.stringify(ownOpenApi(), null, 1);
  return [...text.matchAll(/"(\w+)": \{/g)].map(([, name = ""]) => name);
}

test("every name has one counterpart, in both directions", () => {
  const pairs = Object.entries(cloudNames);
  expect(new Set(pairs.map(([, theirs]) => theirs)).size).toBe(pairs.length);
  expect(pairs.filter(([ours, theirs]) => ours === theirs || Object.hasOwn(cloudNames, theirs))).toEqual([]);
  for (const [form, places] of Object.entries(renames)) {
    for (const { at, names } of places) {
      const value = (members: readonly string[]) => {
        const object = Object.fromEntries(members.map((name) => [name, name]));
        return at === "" ? object : { [at]: object, other: 1 };
      };
      const ours = value(Object.keys(names));
      const theirs = toTheirs(ours, form as CloudForm);
      expect(Object.keys((at === "" ? theirs : (theirs as Record<string, object>)[at]) as object)).toEqual(
        Object.values(names),
      );
      expect(toOurs(theirs, form as CloudForm)).toEqual(ours);
    }
  }
});

test("every kind of source and every setting of the engine has a name there", () => {
  const source = renames.pipe?.find(({ at }) => at === "source")?.names ?? {};
  expect(Object.keys(sourceKinds).filter((kind) => source[kind] === undefined)).toEqual(["objectStorage", "push"]);
  expect(Object.keys(cloudSettingNames).length).toBeGreaterThan(5);
});

test("members are declared for routes that exist, and routes call operations that exist", () => {
  const ids = cloudRoutes.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const declared = [...Object.keys(acceptedMembers), ...Object.keys(refusedMembers)];
  expect(declared.filter((id) => !ids.includes(id))).toEqual([]);
  const known = { ...managementOperations, ...observabilityOperations };
  const calls = [...read(`${room}pipes.ts`), ...read(`${room}services.ts`), ...read(`${room}chart-sources.ts`)].join(
    "",
  );
  const called = [...calls.matchAll(/call\(\s*"(\w+)"/g)].map(([, id = ""]) => id);
  expect(called.length).toBeGreaterThan(10);
  expect(called.filter((id) => !Object.hasOwn(known, id))).toEqual([]);
});
