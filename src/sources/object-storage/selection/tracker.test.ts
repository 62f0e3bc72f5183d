/** What is new among listed objects, while others become durable. */
import { expect, test } from "vitest";
import { keptMarks, testContext } from "../../../../harness/sources/source-context.ts";
import type { Json } from "../../../lib/json.ts";
import { type ObjectDurable, objectShapes } from "../declaration/durable.ts";
import type { ObjectFile } from "../stores/store.ts";
import { marksOf, Tracker } from "./tracker.ts";

const fileOf = (key: string): ObjectFile => ({ key, etag: "v1", size: 1 });

test("an object that becomes durable while the marks are read is not new", async () => {
  const kept = keptMarks<ObjectDurable>(objectShapes, new Map<string, Json>());
  const [first, second] = [fileOf("a"), fileOf("b")];
  let finish = async () => {};
  const marks: typeof kept.marks = async (wanted) => {
    const known = await kept.marks(wanted);
    await finish();
    return known;
  };
  const tracker = new Tracker(testContext<ObjectDurable>({ ledger: { ...kept, marks } }));
  tracker.take([first]);
  finish = async () => {
    await kept.note(marksOf([first], "loaded"), {});
    tracker.finish([first.key]);
  };
  // A batch of both would have another token than the one that has loaded the first.
  expect((await tracker.news([first, second])).fresh).toEqual([second]);
  expect((await tracker.news([first, second])).fresh).toEqual([second]);
});
