import { expect, test } from "vitest";
import { memoryBytes, memoryNote } from "./memory.ts";

const machine = 16 * 2 ** 30;
const service = (maxReplicaMemoryGb: number) => ({ maxReplicaMemoryGb });

test("a limit that holds needs no words", () => {
  expect(memoryBytes(service(8), machine)).toBe(8 * 2 ** 30);
  expect(memoryNote(service(8), 8, machine)).toBeUndefined();
  expect(memoryNote(service(8), undefined, machine)).toBeUndefined();
});

test("a new limit is said to hold from the next start of the engine", () => {
  expect(memoryNote(service(4), 8, machine)).toMatch(
    /^The engine keeps .* 8 GiB until its next start.*then it has 4 GiB\.$/,
  );
});

test("a limit beyond the machine is said, with what the service can use", () => {
  expect(memoryBytes(service(356), machine)).toBe(Math.floor(machine * 0.9));
  expect(memoryNote(service(356), 356, machine)).toBe(
    "The machine has 16 GiB of memory: the service can use 14.4 of its 356 GiB.",
  );
});
