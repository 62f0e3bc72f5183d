import { expect, test } from "vitest";
import { assertConfined, stateOf } from "./state.ts";

test("the state of a machine is one sentence that names what is missing", () => {
  expect(stateOf(7, "")).toEqual({
    confined: true,
    landlock: 7,
    missing: [],
    sentence: "Engines and pipe workers are confined by Landlock, version 7.",
  });
  expect(stateOf(3, "").missing).toEqual([
    "connections are not limited to ports",
    "abstract unix sockets of others can be reached",
  ]);
  expect(stateOf(3, "").sentence).toMatch(/version 3, but connections are not limited to ports, and abstract/);
  expect(stateOf(0, "darwin has no Landlock")).toMatchObject({ confined: false, missing: ["everything"] });
  expect(stateOf(0, "darwin has no Landlock").sentence).toMatch(/without confinement, because darwin has no Landlock:/);
});

test("a server that requires the wall refuses to start without it", () => {
  expect(() => assertConfined(stateOf(0, "darwin has no Landlock"))).toThrow(
    /^--require-confinement: Engines .* darwin/,
  );
  expect(() => assertConfined(stateOf(1, ""))).toThrow(/engines are not limited to their folders/);
  expect(() => assertConfined(stateOf(2, ""))).not.toThrow();
});
