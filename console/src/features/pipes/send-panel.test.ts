import { expect, test } from "vitest";
import { awaited } from "./send-panel.tsx";

test("rows that are accepted have arrived, also while none of them is loaded", () => {
  const waits: Record<string, number>[] = [{}, { acceptedRows: 0, lagMessages: 0 }];
  expect(waits.map((progress) => awaited(progress, false))).toEqual(waits.map(() => "Waiting for the first row."));
  // Accepted rows are counted since the server started.
  const arrived: Record<string, number>[] = [{ acceptedRows: 50, lagMessages: 50 }, { lagMessages: 50 }];
  for (const progress of arrived) expect(awaited(progress, false)).toBe("Rows have arrived; none is loaded yet.");
});
