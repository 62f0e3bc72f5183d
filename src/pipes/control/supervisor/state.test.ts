/** Every combination of the table, and every fact that leads to one. */
import { describe, expect, test } from "vitest";
import { type PipeState, pipeStates } from "../../../api/pipes.ts";
import { serviceStates } from "../../../api/services.ts";
import type { WorkerStatus } from "../../protocol.ts";
import { observedOf, pipeAction, presenceOf, shownState, wantedOf } from "./state.ts";

const observed = ["absent", "stopped", "final", "running", "outdated", "died", "settled"] as const;
const services = ["present", "away"] as const;
const final: readonly PipeState[] = ["Completed", "Failed", "InternalError"];

describe("the action", () => {
  const table = [
    // desired, service, then the action for each of `observed` in its order
    ["running", "present", "start start rest watch end recover finish"],
    ["running", "away", "wait wait rest end end end finish"],
    ["stopped", "present", "stop rest stop stop stop stop stop"],
    ["stopped", "away", "stop rest stop stop stop stop stop"],
    ["resync", "present", "startOver startOver startOver startOver startOver startOver startOver"],
    ["resync", "away", "startOver startOver startOver startOver startOver startOver startOver"],
    ["deleted", "present", "remove remove remove remove remove remove remove"],
    ["deleted", "away", "remove remove remove remove remove remove remove"],
  ] as const;

  test.each(table)("for a pipe that is to be %s, its service %s: %s", (wanted, service, actions) => {
    expect(observed.map((one) => pipeAction(wanted, one, service)).join(" ")).toBe(actions);
  });

  test("of the table is given for every combination", () => {
    const given = table.map(([wanted, service]) => `${wanted} ${service}`);
    const all = (["running", "stopped", "resync", "deleted"] as const).flatMap((wanted) =>
      services.map((service) => `${wanted} ${service}`),
    );
    expect(given).toEqual(all);
  });
});

test("a request to start over counts for a pipe that stays", () => {
  const wanted = (["running", "stopped", "deleted"] as const).map((desiredState) =>
    [false, true].map((resyncRequested) => wantedOf({ desiredState, resyncRequested })),
  );
  expect(wanted).toEqual([
    ["running", "resync"],
    ["stopped", "resync"],
    ["deleted", "deleted"],
  ]);
});

describe("observed", () => {
  const worker = (phase: string, over = false, isLeaving = false) => {
    const status = (phase === "degraded" || phase === "failed" ? { phase, reason: "why" } : { phase }) as WorkerStatus;
    return { status, over, isLeaving };
  };
  const phases = ["preparing", "snapshot", "running", "degraded", "stopped", "completed", "failed"];

  test.each(pipeStates)("without workers, of a pipe in %s", (state) => {
    const seen = observedOf({ state, generation: 2, observedGeneration: 2 }, undefined);
    expect(seen).toBe(final.includes(state) ? "final" : state === "Stopped" ? "stopped" : "absent");
    expect(observedOf({ state, generation: 2, observedGeneration: 1 }, undefined)).toBe("absent");
  });

  test.each(pipeStates)("with workers does not depend on what was written: %s", (state) => {
    const pipe = { state, generation: 2, observedGeneration: 1 };
    const seen = (...workers: ReturnType<typeof worker>[]) => observedOf(pipe, { generation: 2, workers });
    expect(phases.map((phase) => seen(worker(phase)))).toEqual([
      ...["running", "running", "running", "running", "running", "settled", "settled"],
    ]);
    expect(phases.map((phase) => seen(worker(phase, true)))).toEqual([
      ...["died", "died", "died", "died", "died", "settled", "settled"],
    ]);
    expect(seen(worker("completed", true), worker("running"))).toBe("running");
    expect(seen(worker("running"), worker("running", false, true))).toBe("outdated");
    expect(seen(worker("running", true), worker("running", false, true))).toBe("died");
    expect(seen(worker("failed"), worker("running"))).toBe("settled");
    expect(seen(worker("failed", true), worker("running", true))).toBe("died");
    for (const phase of phases) {
      expect(observedOf(pipe, { generation: 1, workers: [worker(phase, true)] })).toBe("outdated");
    }
  });
});

test.each(serviceStates)("a service that is %s", (state) => {
  const present = ["running", "idle", "awaking", "degraded", "starting"].includes(state);
  expect(presenceOf({ desiredState: "running", state })).toBe(present ? "present" : "away");
  expect(presenceOf({ desiredState: "stopped", state })).toBe("away");
  expect(presenceOf({ desiredState: "deleted", state })).toBe("away");
  expect(presenceOf(undefined)).toBe("away");
});

test("the worst word of all workers is shown", () => {
  const order: WorkerStatus[] = [
    { phase: "failed", reason: "lost" },
    { phase: "degraded", reason: "slow" },
    { phase: "preparing" },
    { phase: "snapshot" },
    { phase: "running" },
    { phase: "completed" },
  ];
  const words = ["Failed", "Degraded", "Provisioning", "Snapshot", "Running", "Completed"];
  for (const [i, first] of order.entries()) {
    expect(shownState([first]).state).toBe(words[i]);
    for (const second of order.slice(i)) {
      expect(shownState([first, second])).toEqual(shownState([second, first]));
      expect(shownState([second, first]).state).toBe(words[i]);
    }
  }
});
