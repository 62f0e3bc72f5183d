/** Subjects of commits say where and what: `room: verb what`, so that the history of a room can be read. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "../../scripts/house.ts";

/** The first commit under this rule is its successor. */
const before = "601ee8dc";
const longest = 72;

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

function problemOf(subject: string): string | undefined {
  if (subject.length > longest) return `has ${subject.length} characters, of ${longest}`;
  if (!/^[a-z][a-z0-9-]*: [a-z]/.test(subject)) return "does not begin with `room: verb`";
  if (/^[a-z0-9-]+: (?:a|an|the|no|of|for|with|in|it|its)\b/.test(subject)) return "begins with no verb";
  if (subject.endsWith(".")) return "ends with a full stop";
  return subject.includes(";") ? "is two sentences" : undefined;
}

test("a subject that says neither where nor what is found", () => {
  expect(problemOf("endpoint: pass trace headers on over TLS")).toBeUndefined();
  expect(problemOf("An element of a tuple is not a name of a table")).toMatch(/begin/);
  expect(problemOf("guard: an element of a tuple")).toMatch(/verb/);
  expect(problemOf("cli: list worker in help.")).toMatch(/stop/);
  expect(problemOf("cli: list worker; and move-store")).toMatch(/sentences/);
  expect(problemOf(`cli: ${"list ".repeat(20)}`)).toMatch(/characters/);
});

test("every commit since the rule has such a subject", ({ skip }) => {
  const known = git("merge-base", "--is-ancestor", before, "HEAD");
  if (known === undefined) {
    console.warn(`The subjects of commits are not judged: this copy has no history back to ${before}.`);
    return skip();
  }
  const subjects = git("log", "--no-merges", "--format=%s", `${before}..HEAD`)?.split("\n").filter(Boolean) ?? [];
  const wrong = subjects.filter((subject) => problemOf(subject) !== undefined);
  expect(wrong.map((subject) => `${subject}: ${problemOf(subject)}`)).toEqual([]);
});
