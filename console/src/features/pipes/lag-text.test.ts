import { expect, test } from "vitest";
import { lagDetails } from "./lag-text.tsx";

test("seconds behind a source that writes all the time are neither growing nor caught up in some minutes", () => {
  expect(lagDetails({ seconds: 2, rows: 110, trend: "growing" })).toBe("110 rows");
  expect(lagDetails({ seconds: 2, rows: 90, trend: "shrinking", etaSeconds: 331 })).toBe("90 rows");
});

test("of a distance that needs somebody, direction and end are told", () => {
  expect(lagDetails({ seconds: 90, rows: 110, trend: "growing" })).toBe("110 rows · growing");
  expect(lagDetails({ seconds: 600, trend: "shrinking", etaSeconds: 60 })).toBe("caught up in 1 min");
  expect(lagDetails({ files: 3, trend: "shrinking", etaSeconds: 5 })).toBe("3 objects · caught up in 5 s");
});
