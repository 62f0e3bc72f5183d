import { expect, test } from "vitest";
import { renewed } from "./installation.ts";
import { type Installation, type InstallationStatus, installationKind } from "./objects.ts";
import { podTrouble } from "./pods.ts";
import { phaseOf, progressOf } from "./status.ts";

const told = (status: InstallationStatus | undefined) => ({
  spec: { stop: "no" as const, taskID: "t2" },
  ...(status === undefined ? {} : { status }),
});

test("what the operator says of an earlier task does not count for this one", () => {
  expect(phaseOf(told(undefined))).toBe("unseen");
  expect(phaseOf(told({ status: "Completed", taskID: "t1", taskIDsCompleted: ["t1"] }))).toBe("unseen");
  expect(phaseOf(told({ status: "Aborted", taskID: "t1" }))).toBe("unseen");
  expect(phaseOf(told({ status: "InProgress", taskID: "t2", taskIDsCompleted: ["t1"] }))).toBe("working");
  expect(phaseOf(told({ status: "Aborted", taskID: "t2" }))).toBe("aborted");
  expect(phaseOf(told({ status: "Completed", taskIDsCompleted: ["t1", "t2"] }))).toBe("completed");
  // The operator counts a task that it gave up as completed.
  expect(phaseOf(told({ status: "Aborted", taskID: "t2", taskIDsCompleted: ["t1", "t2"] }))).toBe("aborted");
});

test("a task that was given up is another one when it is tried again; any other keeps its id", () => {
  const metadata = { name: "mr-1", namespace: "d", labels: {} };
  const wanted: Installation = { ...installationKind, metadata, spec: { stop: "no" } };
  const first = renewed(wanted, undefined);
  const found = (status: string) => {
    const { taskID } = first.spec as { taskID: string };
    return { ...first, status: { status, taskID, taskIDsCompleted: [taskID] } };
  };
  expect(renewed(wanted, found("Completed")).spec).toEqual(first.spec);
  expect(renewed(wanted, found("Aborted")).spec).not.toEqual(first.spec);
});

test("progress has the hosts and the operator's own error", () => {
  expect(progressOf(told(undefined))).toMatch(/has not answered yet; check that it watches this namespace/);
  const task = { status: "InProgress", taskID: "t2", hosts: 2, hostsCompleted: 1 };
  const before = { ...task, errors: ["2026-11-27T02:59:51Z no volume"] };
  const status = { ...before, error: "no volume" };
  expect(progressOf(told(status))).toBe("the ClickHouse operator says InProgress, 1 of 2 hosts done: no volume");
  // A task before had this one.
  expect(progressOf(told(before))).toBe("the ClickHouse operator says InProgress, 1 of 2 hosts done");
});

test("the first pod that cannot run is named with the reason of the cluster", () => {
  const metadata = { name: "chi-0-0" };
  const unscheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes fit" };
  expect(podTrouble([{ metadata, status: { conditions: [unscheduled] } }])).toBe(
    "pod chi-0-0: Unschedulable: 0/3 nodes fit",
  );
  const waiting = { reason: "ImagePullBackOff", message: "no such image" };
  const container = { ready: false, state: { waiting } };
  expect(podTrouble([{ metadata, status: { containerStatuses: [container] } }])).toMatch(/ImagePullBackOff: no such/);
  const killed = { terminated: { reason: "OOMKilled", exitCode: 137 } };
  const crashing = { ready: false, state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: killed };
  expect(podTrouble([{ metadata, status: { containerStatuses: [crashing] } }])).toBe(
    "pod chi-0-0: CrashLoopBackOff (it ended before: OOMKilled, exit code 137)",
  );
  const creating = { ready: false, state: { waiting: { reason: "ContainerCreating" } } };
  expect(podTrouble([{ metadata, status: { containerStatuses: [creating] } }])).toBeUndefined();
});
