import { expect, test } from "vitest";
import { emptyForm } from "./form.ts";
import { foundIn } from "./found.ts";

test("what a source has is told in numbers, and that nothing matches is not a success", () => {
  const form = { ...emptyForm, values: { url: "https://b.example/raw/part-?{1,2}*.parquet" } };
  const objects = ["part-01.parquet", "part-12.parquet", "notes.txt"].map((key) => ({
    key: `raw/${key}`,
    bytes: 1024,
  }));
  expect(foundIn(form, { objects })).toEqual({ isEmpty: false, text: "2 objects, 2.0 KiB, Parquet match." });
  expect(foundIn(form, { objects: objects.slice(2) }).isEmpty).toBe(true);
  expect(foundIn(form, { prefixes: [{ prefix: "a/", objects: 30 }] }).text).toBe("1 folder with 30 objects was found.");
  expect(foundIn(form, { objects: objects.slice(0, 1) }).text).toBe("1 object, 1.0 KiB, Parquet matches.");
  expect(foundIn(form, { tables: [{ schema: "public", table: "t" }] as never }).text).toBe("1 table was found.");
  expect(foundIn(form, { streams: ["a", "b"] as never }).text).toBe("2 streams were found.");
  expect(foundIn(form, { topics: [{ name: "t", partitions: 1, messages: 5 }] }).text).toBe(
    "1 topic, 5 messages were found.",
  );
  expect(foundIn(form, { topics: [] }).isEmpty).toBe(true);
  expect(foundIn(form, { streams: ["a", "b"] as never, nextCursor: "b" }).text).toBe("More than 2 streams were found.");
  expect(foundIn(form, { objects: objects.slice(2), nextCursor: "n" }).text).toContain("first objects");
});
