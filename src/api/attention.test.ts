import { expect, test } from "vitest";
import { overQuota } from "../engine/disk-quota.ts";
import { pipeFindings, serviceFindings } from "./attention.ts";

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

test.each([
  [{ errors: 1, refusedRows: 1, rows: 2 }, "1 row refused since it was created, 33 % of the rows that came."],
  [{ errors: 2, refusedObjects: 2, rows: 2_000 }, "2 objects refused since it was created."],
  [
    { errors: 1_001, refusedRows: 1_000, refusedObjects: 1, rows: 1_000_000 },
    "1 object and 1,000 rows refused since it was created, less than 1 % of the rows that came.",
  ],
  [{ errors: 1, rows: 5 }, "1 gap refused since it was created."],
])("what a pipe refused is told with its unit: %o", (counts, sentence) => {
  expect(pipeFindings({ state: "Running", ...counts })).toEqual([
    { about: "refused", severity: "warn", sentence, at: undefined },
  ]);
});
