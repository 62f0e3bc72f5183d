import { expect, test } from "vitest";
import { AnswerCache, namedTags } from "./answer-cache.ts";

const caller = { organizationId: "o", role: "admin" } as const;

test("an answer is for its URL, organization and role", async () => {
  const cache = new AnswerCache(() => 0);
  let made = 0;
  const ask = async (one: Parameters<typeof cache.of>[0], url: string) =>
    (await cache.of(one, url, async () => ++made)).json;
  const callers = [caller, { ...caller, role: "developer" }, { ...caller, organizationId: "p" }] as const;
  for (const once of ["1", "2", "3"]) expect(await ask(callers[Number(once) - 1] ?? caller, "/a")).toBe(once);
  expect(await ask(caller, "/b")).toBe("4");
  expect(await Promise.all(callers.map((one) => ask(one, "/a")))).toEqual(["1", "2", "3"]);
});

test("an answer is made once for each revision of the store", async () => {
  let revision = 0;
  let made = 0;
  const cache = new AnswerCache(() => revision);
  const ask = async () => (await cache.of(caller, "k", async () => ({ made: ++made }))).json;
  expect([await ask(), await ask()]).toEqual(['{"made":1}', '{"made":1}']);
  revision += 1;
  expect([await ask(), await ask()]).toEqual(['{"made":2}', '{"made":2}']);
});

test("an answer that was made while something was written is given, and not kept", async () => {
  let revision = 0;
  const cache = new AnswerCache(() => revision);
  const read = Promise.withResolvers<string>();
  const early = cache.of(caller, "k", () => read.promise);
  revision += 1;
  // Others have filled the new revision by the time the early one finishes.
  await cache.of(caller, "other", async () => "x");
  read.resolve("old");
  expect((await early).json).toBe('"old"');
  expect((await cache.of(caller, "k", async () => "new")).json).toBe('"new"');
});

test("what throws is asked for again", async () => {
  const cache = new AnswerCache(() => 0);
  const refuse = async () => {
    throw new Error("not yet");
  };
  await expect(cache.of(caller, "k", refuse)).rejects.toThrow("not yet");
  expect((await cache.of(caller, "k", async () => 1)).json).toBe("1");
});

test("memory is bounded: beyond it answers are made again, and a giant is never kept", async () => {
  const cache = new AnswerCache(() => 0);
  let made = 0;
  const ask = (key: string, length: number) => cache.of(caller, key, async () => `${++made}`.padEnd(length, "."));
  const mebi = 2 ** 20;
  await ask("giant", 9 * mebi);
  await ask("giant", 9 * mebi);
  expect(made).toBe(2);
  for (let i = 0; i < 7; i += 1) await ask(`${i}`, mebi);
  await ask("0", mebi);
  expect(made).toBe(9);
  await ask("one too many", mebi);
  await ask("0", mebi);
  expect(made).toBe(11);
});

test("the tag says what the answer is, whatever the revision", async () => {
  let revision = 0;
  const cache = new AnswerCache(() => revision++);
  const tagOf = async (value: unknown) => (await cache.of(caller, "k", async () => value)).tag;
  expect(await tagOf({ a: 1 })).toBe(await tagOf({ a: 1 }));
  expect(await tagOf({ a: 1 })).not.toBe(await tagOf({ a: 2 }));
  expect(await tagOf([])).toMatch(/^"[\w-]{22}"$/);
});

test("If-None-Match is a list of tags, strong or weak", () => {
  expect(namedTags('"a", W/"b",W/"c"')).toEqual(['"a"', '"b"', '"c"']);
  expect(namedTags("*")).toEqual(["*"]);
});
