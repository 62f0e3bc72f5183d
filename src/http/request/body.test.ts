/** Bodies that are small but expensive: many values, deep nesting, characters that cannot be stored. */
import { expect, test } from "vitest";
import { cpuMs } from "../../../harness/cpu-time.ts";
import { AppError } from "../../lib/errors.ts";
import { parseJson } from "./body.ts";

function refusal(text: string): AppError {
  try {
    parseJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return expect.fail("the body should be refused");
}

test("a megabyte of the smallest values is refused before it is read", async () => {
  for (const value of ["{}", "0", '""', "[]"]) {
    const text = `[${`${value},`.repeat(Math.floor(1_000_000 / (value.length + 1)))}0]`;
    const taken = await cpuMs(() => expect(refusal(text).message).toContain("more than 30000 values"));
    expect(taken).toBeLessThan(1_000);
  }
  expect(parseJson(Buffer.from(`[${"0,".repeat(29_000)}0]`))).toHaveLength(29_001);
});

test("NUL characters are found wherever they are, and at most twenty are told of", () => {
  expect(refusal('{"a":[{"b":"x\\u0000"}],"c\\u0000":1}').issues).toEqual([
    { path: "a.0.b", message: "must not contain NUL characters" },
    { path: "", message: "has a member name with NUL characters" },
  ]);
  expect(refusal(`[${'"\\u0000",'.repeat(1000)}0]`).issues).toHaveLength(20);
  expect(parseJson(Buffer.from('{"a":"\\\\u0000"}'))).toEqual({ a: "\\u0000" });
});

test("half of a surrogate pair, which the store would replace, is refused; a whole pair is not", () => {
  const message = "must not contain half of a surrogate pair";
  expect(refusal('{"a":["\\uD800"],"b":"x\\udc00y"}').issues).toEqual([
    { path: "a.0", message },
    { path: "b", message },
  ]);
  expect(refusal('{"\\ud83d":1}').issues).toEqual([
    { path: "", message: "has a member name with half of a surrogate pair" },
  ]);
  expect(parseJson(Buffer.from('{"a":"\\ud83d\\ude00"}'))).toEqual({ a: "😀" });
});
