import { expect, test } from "vitest";
import { AppError } from "./errors.ts";
import { publicText, withoutMiddle } from "./public-text.ts";

test("text of a source steers no terminal and forges no line of a log", () => {
  expect(publicText("a\u001b]0;x\u0007b\u009b2J\u0000c\r")).toBe("a\ufffd]0;x\ufffdb\ufffd2J\ufffdc\ufffd");
  expect(publicText("abc\u202egnp.exe\u2066\u2028")).toBe("abc\ufffdgnp.exe\ufffd\ufffd");
  expect(publicText("two\nlines\tof é 日本 🙂")).toBe("two\nlines\tof é 日本 🙂");
});

test("a long text keeps its beginning and its end", () => {
  expect(withoutMiddle("0123456789", 10)).toBe("0123456789");
  expect(withoutMiddle("0123456789x\nab\n", 12)).toBe("0…x\nab\n");
  expect(withoutMiddle("abc\n".repeat(10), 12)).toBe("abc\nab…c\nabc\n");
});

test("an error holds no more than a page of it, in its issues too", () => {
  const long = "x\u0000".repeat(500_000);
  const error = new AppError("SOURCE_INVALID", long, { issues: [{ path: "source", message: long }] });
  for (const text of [error.message, error.issues?.[0]?.message ?? long]) {
    expect(text).toHaveLength(10_001);
    expect(text).not.toContain("\u0000");
  }
});
