/** Every flag of a source sets a member that the API knows. */
import { expect, test } from "vitest";
import { sourceKinds } from "../../sources/registry.ts";
import { kindWords } from "./pipe-view.ts";
import { sourceFlags } from "./source-flags.ts";

type Schema = { shape?: Record<string, Schema>; unwrap?: () => Schema; options?: Schema[] };

function knows(schema: Schema, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  if (schema.unwrap !== undefined) return knows(schema.unwrap(), [name, ...rest]);
  if (schema.options !== undefined) return schema.options.some((option) => knows(option, [name, ...rest]));
  const member = schema.shape?.[name];
  return member !== undefined && knows(member, rest);
}

test.each(Object.keys(kindWords) as (keyof typeof kindWords)[])("of %s", (kind) => {
  const { request } = sourceKinds[kindWords[kind]];
  const unknown = sourceFlags[kind].filter(({ path }) => !knows(request as unknown as Schema, path.split(".")));
  expect(unknown).toEqual([]);
  expect(knows(request as unknown as Schema, ["nope"])).toBe(false);
});
