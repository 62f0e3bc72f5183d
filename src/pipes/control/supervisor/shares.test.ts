import { expect, test } from "vitest";
import type { PipeSelection } from "../../../store/nodes/nodes.ts";
import { fairShare, sharesOf } from "./shares.ts";

const peer = (id: string, takes: PipeSelection = {}, slots = Number.POSITIVE_INFINITY) => ({ id, slots, takes });
const pipesOf = (sourceKind: string, count: number, scaling: Record<string, number> = {}) =>
  Array.from({ length: count }, () => ({ sourceKind, scaling }));
/** How many pipes of each kind a process runs at most. */
const mostOf = (pipes: ReturnType<typeof pipesOf>, peers: readonly ReturnType<typeof peer>[], nodeId: string) =>
  sharesOf(pipes, peers, nodeId).map(({ pipes: [first], most }) => [first?.sourceKind, most]);

test("a process has a share of the kinds that it takes, beside those that take everything", () => {
  const pipes = [...pipesOf("messageBroker", 6), ...pipesOf("objectStorage", 4)];
  const peers = [peer("a"), peer("b", { kinds: ["messageBroker"] })];
  expect(mostOf(pipes, peers, "a")).toEqual([
    ["objectStorage", 4],
    ["messageBroker", 3],
  ]);
  expect(mostOf(pipes, peers, "b")).toEqual([
    ["objectStorage", 0],
    ["messageBroker", 3],
  ]);
});

test("pipes with limits of their own are apart, and nobody has those that nobody takes", () => {
  const pipes = [...pipesOf("messageBroker", 4), ...pipesOf("relationalDb", 2, { replicaMemoryGb: 4 })];
  const peers = [peer("a", { sizes: "shared" }), peer("b", { sizes: "own" })];
  expect(mostOf(pipes, peers, "a")).toEqual([
    ["messageBroker", 4],
    ["relationalDb", 0],
  ]);
  expect(mostOf(pipes, peers, "b")).toEqual([
    ["messageBroker", 0],
    ["relationalDb", 2],
  ]);
  expect(mostOf(pipes, [peer("a", { sizes: "shared" })], "a")).toEqual([
    ["relationalDb", 0],
    ["messageBroker", 4],
  ]);
});

test("slots go first to pipes that few processes take, and to no more than there are", () => {
  const pipes = [...pipesOf("objectStorage", 3), ...pipesOf("messageBroker", 6)];
  const peers = [peer("a", {}, 4), peer("b", { kinds: ["messageBroker"] }, 5)];
  expect(mostOf(pipes, peers, "a")).toEqual([
    ["objectStorage", 3],
    ["messageBroker", 1],
  ]);
  expect(mostOf(pipes, peers, "b")).toEqual([
    ["objectStorage", 0],
    ["messageBroker", 5],
  ]);
});

test("no slot stays free while a pipe waits for it", () => {
  for (const [brokers, objects] of [
    [3, 1],
    [1, 3],
    [5, 2],
    [2, 2],
    [4, 6],
  ] as const) {
    const pipes = [...pipesOf("messageBroker", brokers), ...pipesOf("objectStorage", objects)];
    for (const wide of [1, 2, 3]) {
      // As many slots as pipes: some processes take everything, and the last one has a slot for brokers.
      const slots = brokers + objects - 1 - (wide - 1);
      const everything = Array.from({ length: wide }, (_, at) => peer(`a${at}`, {}, at === 0 ? slots : 1));
      const peers = [...everything, peer("b", { kinds: ["messageBroker"] }, 1)];
      for (const kind of ["messageBroker", "objectStorage"]) {
        const places = peers
          .map(({ id }) => sharesOf(pipes, peers, id))
          .map((shares) => shares.find(({ pipes: [first] }) => first?.sourceKind === kind)?.most ?? 0);
        const count = kind === "messageBroker" ? brokers : objects;
        expect(
          places.reduce((sum, one) => sum + one, 0),
          `${kind} of ${brokers} and ${objects}, ${wide}`,
        ).toBe(count);
      }
    }
  }
});

test("shares are equal but for one pipe, within the slots of each process, and all pipes run", () => {
  for (const slots of [[1], [3, 3], [0, 5, 2], [Infinity], [Infinity, 2], [Infinity, Infinity, 0], [7, 1, 4, 4]]) {
    for (const pipes of [0, 1, 2, 5, 6, 17]) {
      const share = fairShare(pipes, slots);
      const places = (most: number) => slots.reduce((sum, one) => sum + Math.min(one, most), 0);
      const all = slots.reduce((sum, one) => sum + one, 0);
      expect(places(share), `${pipes} pipes, slots ${slots}`).toBeGreaterThanOrEqual(Math.min(pipes, all));
      // It is the smallest such number.
      if (share > 0) expect(places(share - 1)).toBeLessThan(pipes);
    }
  }
});

test("nobody runs more than the slots allow when there are too few", () => {
  expect(fairShare(100, [3, 8])).toBe(8);
  expect(fairShare(100, [0, 0])).toBe(0);
  expect(fairShare(100, [])).toBe(0);
});
