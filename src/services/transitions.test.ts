import { describe, expect, test, vi } from "vitest";
import { sleep } from "../lib/abort.ts";
import type { Service } from "../store/services/services.ts";
import { type Transition, Transitions } from "./transitions.ts";

const row = { id: "s", desiredState: "running" } as Service;
const isWanted = (now: Service) => now.desiredState === "running";
/** Lasts until it is no longer wanted. */
const endless = async ({ signal }: Transition) => {
  await sleep(2 ** 31 - 1, signal);
  signal.throwIfAborted();
};

describe("a transition", () => {
  test("ends early when the stored service does not want it any more, and only then", async () => {
    const transitions = new Transitions();
    const running = transitions.run("s", { report: async () => {}, isWanted }, endless);
    transitions.review(row);
    transitions.review({ ...row, id: "another", desiredState: "stopped" });
    expect(transitions.has("s")).toBe(true);
    transitions.review({ ...row, desiredState: "stopped" });
    expect(await running).toBe(false);
    expect(transitions.has("s")).toBe(false);
  });

  test("ends when the control plane stops, also one that begins then", async () => {
    const transitions = new Transitions();
    const running = transitions.run("s", { report: async () => {}, isWanted }, endless);
    transitions.close();
    expect(await running).toBe(false);
    expect(await transitions.run("s", { report: async () => {}, isWanted }, endless)).toBe(false);
  });

  test("reports each sentence once until another one comes, and nothing when it has ended", async () => {
    const report = vi.fn(async () => {});
    const given: Transition[] = [];
    const transitions = new Transitions();
    await transitions.run("s", { report, isWanted }, async (transition) => {
      given.push(transition);
      for (const sentence of ["a", "a", "b", "a"]) await transition.report(sentence);
    });
    expect(report.mock.calls).toEqual([["a"], ["b"], ["a"]]);
    const late = transitions.run("s", { report, isWanted }, async (transition) => {
      transitions.review({ ...row, desiredState: "stopped" });
      await transition.report("late");
      transition.signal.throwIfAborted();
    });
    expect(await late).toBe(false);
    expect(report).toHaveBeenCalledTimes(3);
  });

  test("rejects with its own failure", async () => {
    const failing = new Transitions().run("s", { report: async () => {}, isWanted }, async () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
  });
});
