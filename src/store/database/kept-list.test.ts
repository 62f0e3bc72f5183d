import { expect, test } from "vitest";
import { keptList } from "./kept-list.ts";

/** A database of one value. */
function counted() {
  const state = { revision: 0, reads: 0, value: "one" };
  const read = async () => {
    state.reads += 1;
    return [state.value];
  };
  return { state, list: keptList({ revision: () => state.revision }, read) };
}

test("a list is read once while nothing is written", async () => {
  const { state, list } = counted();
  const first = await list();
  expect(await list()).toBe(first);
  expect(state.reads).toBe(1);
});

test("a write is seen by the next call", async () => {
  const { state, list } = counted();
  await list();
  Object.assign(state, { value: "two", revision: 1 });
  expect(await list()).toEqual(["two"]);
});

test("a write that ends while the rows are read is seen by the next call", async () => {
  let revision = 0;
  let value = "one";
  const list = keptList({ revision: () => revision }, async () => {
    const seen = value;
    // Committed after this read, and before its end.
    value = "two";
    revision += 1;
    return [seen];
  });
  expect(await list()).toEqual(["one"]);
  expect(await list()).toEqual(["two"]);
});

test("a failed read is tried again", async () => {
  let isAway = true;
  const list = keptList({ revision: () => 0 }, async () => {
    if (isAway) throw new Error("away");
    return ["one"];
  });
  await expect(list()).rejects.toThrow("away");
  isAway = false;
  expect(await list()).toEqual(["one"]);
});
