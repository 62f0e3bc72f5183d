import { expect, test } from "vitest";
import { columnsOf, readFlag, readPlainJson, recordReader } from "./columns.ts";

type Thing = {
  readonly id: string;
  readonly isOn: boolean;
  readonly tags: readonly string[];
  readonly lastSeenAt: string | null;
  readonly limit: number | undefined;
};

const toThing = recordReader<Thing>()(["id isOn tags", "lastSeenAt limit"], {
  isOn: readFlag,
  tags: readPlainJson,
  limit: (limit: number | null) => limit ?? undefined,
});

test("a record that was stored is read as it was, without columns that are not members", () => {
  const thing: Thing = { id: "1", isOn: true, tags: ["a"], lastSeenAt: null, limit: 3 };
  const stored = columnsOf(thing);
  expect(stored).toEqual({ id: "1", is_on: 1, tags: '["a"]', last_seen_at: null, limit: 3 });
  expect(toThing({ ...stored, secret_hash: "not for anybody" })).toEqual(thing);
  expect(toThing({ ...stored, is_on: 0, limit: null })).toEqual({ ...thing, isOn: false, limit: undefined });
});

test("the types refuse a member that is missing, one that does not exist, and a boolean that is not converted", () => {
  // @ts-expect-error limit is missing
  recordReader<Thing>()(["id isOn tags lastSeenAt"], { isOn: readFlag, tags: readPlainJson, limit: readPlainJson });
  // @ts-expect-error there is no colour
  recordReader<Pick<Thing, "id">>()(["id colour"], {});
  // @ts-expect-error isOn is stored as a number
  recordReader<Pick<Thing, "isOn">>()(["isOn"], {});
});
