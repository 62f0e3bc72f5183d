import { expect, test } from "vitest";
import { placeOf, problemOfUrl, urlsOfHosts } from "./postgres-url.ts";

test("a URL with several hosts is one URL for each of them, with its own port and the same login and parameters", () => {
  expect(urlsOfHosts("postgres://u:p%40@a:1,b,[::1]:3/db?sslmode=verify-full&target_session_attrs=read-write")).toEqual(
    [
      "postgres://u:p%40@a:1/db?sslmode=verify-full",
      "postgres://u:p%40@b/db?sslmode=verify-full",
      "postgres://u:p%40@[::1]:3/db?sslmode=verify-full",
    ],
  );
  expect(urlsOfHosts("postgresql://a/db")).toEqual(["postgresql://a/db"]);
});

test("the place in errors has all hosts, and neither user nor password", () => {
  expect(placeOf("postgres://user:secret@a:1,b:2/db?sslmode=no-verify")).toBe("postgres://a:1,b:2/db");
});

test.each([
  ["mysql://u:secret@a/db", /must look like postgres:/],
  ["postgres://u:secret@a:x,b/db", /must look like postgres:/],
  ["postgres://u:secret@a,,b/db", /must look like postgres:/],
  ["postgres://u:se/cret@a/db", /must look like postgres:/],
  ["postgres://u:secret@a,b/db?target_session_attrs=standby", /must be read-write or primary/],
])("%s is refused with what is wrong, without its password", (url, problem) => {
  expect(problemOfUrl(url)).toMatch(problem);
  expect(problemOfUrl(url)).not.toContain("secret");
});
