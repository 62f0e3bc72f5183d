import { expect, test } from "vitest";
import { stateOf } from "../confinement/state.ts";
import { problemOfUnconfined } from "./unconfined.ts";

const reason = "this kernel has no Landlock";
const unconfined = [0, 1].map((landlock) => stateOf(landlock, reason, undefined));
const alone = { config: { host: "127.0.0.1", unconfined: false }, organizations: 1, hasSqlUsers: false };

test.each(unconfined)("one organization on loopback starts without a wall: %j", (confinement) => {
  expect(problemOfUnconfined({ ...alone, confinement })).toBeUndefined();
});

test.each([
  [{ config: { host: "0.0.0.0", unconfined: false } }, "clients of other machines (--host 0.0.0.0)"],
  [{ organizations: 2 }, "2 organizations"],
  [{ hasSqlUsers: true }, "users made by SQL"],
])("%j needs a wall, or --unconfined", (more, named) => {
  for (const confinement of unconfined) {
    const given = { ...alone, ...more, confinement };
    const problem = problemOfUnconfined(given);
    expect(problem).toContain(confinement.sentence);
    expect(problem).toContain(named);
    expect(problem).toContain("--unconfined");
    expect(problemOfUnconfined({ ...given, config: { ...given.config, unconfined: true } })).toBeUndefined();
    expect(problemOfUnconfined({ ...given, confinement: stateOf(2, reason, 2) })).toBeUndefined();
  }
});
