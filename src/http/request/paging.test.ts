import { expect, test } from "vitest";
import { pageOf, type SortedPage, type SortValue } from "./paging.ts";

type Item = { readonly id: string; readonly value: SortValue };

const page = (items: readonly Item[], cursor?: string, isDescending = false): SortedPage<Item> =>
  pageOf(items, (item) => item, { sorting: `value ${isDescending}`, isDescending, limit: 2, cursor });

const ids = ({ items }: SortedPage<Item>) => items.map(({ id }) => id).join("");

const items: Item[] = [
  { id: "e", value: undefined },
  { id: "b", value: 1 },
  { id: "a", value: 1 },
  { id: "d", value: 3 },
  { id: "c", value: 2 },
];

test("pages follow one another without gap and repetition, equal values by id, unknown ones last in both orders", () => {
  const read = (isDescending: boolean) => {
    const pages: string[] = [];
    for (let cursor: string | undefined, i = 0; i === 0 || cursor !== undefined; i += 1) {
      const next = page(items, cursor, isDescending);
      pages.push(ids(next));
      cursor = next.nextCursor;
    }
    return pages;
  };
  expect(read(false)).toEqual(["ab", "cd", "e"]);
  expect(read(true)).toEqual(["dc", "ab", "e"]);
});

test("an item added or removed before the cursor moves nothing", () => {
  const { nextCursor } = page(items);
  const changed = [...items.filter(({ id }) => id !== "b"), { id: "z", value: 0 }];
  expect(ids(page(changed, nextCursor))).toBe("cd");
});

test("a cursor of another order, or no cursor at all, is refused with its path", () => {
  const { nextCursor } = page(items);
  for (const cursor of [nextCursor, "x", "bnVsbA", Buffer.from("[1,2]").toString("base64url")]) {
    expect(() => page(items, cursor, true)).toThrow(expect.objectContaining({ code: "BAD_REQUEST" }));
  }
});
