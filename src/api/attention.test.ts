import { expect, test } from "vitest";
import { overQuota } from "../engine/disk-quota.ts";
import { serviceFindings } from "./attention.ts";

const gib = 2 ** 30;

test("a disk quota is told once: before it is used up by its share, afterwards by the server's own sentence", () => {
  const almost = serviceFindings({ state: "running", diskGb: 1, diskUsedBytes: 0.996 * gib });
  expect(almost).toMatchObject([{ about: "disk", severity: "warn", sentence: expect.stringMatching(/^99 % of the/) }]);
  const full = { diskGb: 1, diskUsedBytes: 1.5 * gib };
  const stateMessage = overQuota({ usedBytes: full.diskUsedBytes, limitBytes: gib });
  expect(serviceFindings({ state: "running", stateMessage, ...full })).toMatchObject([
    { about: "disk", severity: "bad", sentence: stateMessage },
  ]);
  // Another message does not hide it.
  expect(serviceFindings({ state: "degraded", stateMessage: "A port is taken.", ...full })).toMatchObject([
    { about: "state", sentence: "A port is taken." },
    { about: "disk", severity: "bad" },
  ]);
});
