import { describe, expect, test } from "vitest";
import { CliError } from "./errors.ts";
import { selectorOf } from "./selector.ts";

const tags = [{ key: "team", value: "web" }, { key: "url", value: "a=b" }, { key: "plain" }];

describe("a selector", () => {
  test.each([
    ["team=web", true],
    ["team=data", false],
    ["team!=data", true],
    ["team!=web", false],
    ["absent!=x", true],
    ["plain", true],
    ["plain=", true],
    ["absent", false],
    ["url=a=b", true],
    ["team=web, plain", true],
    ["team=web,absent", false],
  ])("%s is %s", (selector, expected) => expect(selectorOf(selector)(tags)).toBe(expected));

  test.each(["", "=web", "team=web,", "!x"])("%j is a usage error", (selector) => {
    expect(() => selectorOf(selector)).toThrow(CliError);
  });
});
