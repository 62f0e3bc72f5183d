import { expect, test } from "vitest";
import { assertConfined, stateOf } from "./state.ts";

test("the state of a machine says what holds and what is missing", () => {
  expect(stateOf(7, "", 2)).toEqual({
    confined: true,
    landlock: 7,
    missing: [],
    groups: 2,
    sentence:
      "Engines and pipe workers are confined by Landlock, version 7. " +
      "Control groups, version 2, share processors and bound memory and threads.",
  });
  expect(stateOf(3, "", 1).missing).toEqual([
    "connections are not limited to ports",
    "abstract unix sockets of others can be reached",
  ]);
  expect(stateOf(3, "", 1).sentence).toMatch(/version 3, but connections are not limited to ports, and abstract/);
  const none = stateOf(0, "darwin has no Landlock", undefined);
  expect(none).toMatchObject({ confined: false, missing: ["everything"] });
  expect(none.sentence).toMatch(/without confinement, because darwin has no Landlock:.*Without control groups/);
});

test("a server that requires the wall refuses to start without it", () => {
  const none = stateOf(0, "darwin has no Landlock", 1);
  expect(() => assertConfined(none)).toThrow(/^--require-confinement: Engines .* darwin/);
  expect(() => assertConfined(stateOf(1, "", 1))).toThrow(/engines are not limited to their folders/);
  expect(() => assertConfined(stateOf(2, "", undefined))).not.toThrow();
});
