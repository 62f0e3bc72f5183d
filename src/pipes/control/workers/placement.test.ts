import { expect, test } from "vitest";
import { type Classed, choose, workerClassOf } from "./placement.ts";

const pipe: Classed = { organizationId: "o1", sourceKind: "messageBroker", config: {} };

test("pipes share a class only with the same organization, kind and right to the machine's credentials", () => {
  const one = workerClassOf(pipe);
  expect(workerClassOf({ ...pipe, config: { brokers: "b" } })).toBe(one);
  const others: Classed[] = [
    { ...pipe, organizationId: "o2" },
    { ...pipe, sourceKind: "objectStorage" },
    { ...pipe, config: { authentication: "IAM_ROLE" } },
    { ...pipe, config: { iamRole: "arn" } },
  ];
  const classes = [one, ...others.map((other) => workerClassOf(other))];
  // The last two have the same right.
  expect(new Set(classes).size).toBe(4);
  expect(one).toMatch(/^[0-9a-f]{16}$/);
});

test("when organizations share processes, kind and credentials still separate pipes", () => {
  const one = workerClassOf(pipe, "/data");
  expect(workerClassOf({ ...pipe, organizationId: "o2" }, "/data")).toBe(one);
  expect(workerClassOf({ ...pipe, sourceKind: "objectStorage" }, "/data")).not.toBe(one);
  expect(workerClassOf({ ...pipe, config: { iamRole: "arn" } }, "/data")).not.toBe(one);
});

const idle = (...pipeIds: string[]) => ({ pipeIds, utilization: 0 });

test("every replica gets a process of its own while there are fewer than allowed", () => {
  expect(choose([], "p", 2)).toBeUndefined();
  expect(choose([idle("a")], "p", 2)).toBeUndefined();
  expect(choose([idle("a"), idle("b")], "p", 2)).toBeDefined();
});

test("a process that waits for a pipe is taken before another one is started", () => {
  const waiting = idle();
  expect(choose([idle("a"), waiting], "p", 4)).toBe(waiting);
});

test("the process with the fewest slots is chosen, then the quieter one", () => {
  const few = idle("a");
  expect(choose([idle("b", "c"), few, idle("d", "e", "f")], "p", 3)).toBe(few);
  const quiet = { pipeIds: ["a"], utilization: 0.1 };
  expect(choose([{ pipeIds: ["b"], utilization: 0.3 }, quiet], "p", 2)).toBe(quiet);
});

test("replicas of one pipe are spread over processes before slots are counted", () => {
  const other = idle("a", "b", "c");
  expect(choose([idle("p"), other], "p", 2)).toBe(other);
});

test("a busy process is chosen only when all are", () => {
  const busy = { pipeIds: ["a"], utilization: 0.9 };
  const quiet = idle("b", "c", "d");
  expect(choose([busy, quiet], "p", 2)).toBe(quiet);
  expect(choose([busy, { pipeIds: ["b", "c"], utilization: 0.8 }], "p", 2)).toBe(busy);
});
