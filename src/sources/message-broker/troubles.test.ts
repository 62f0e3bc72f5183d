import { expect, test } from "vitest";
import { PartitionTroubles } from "./troubles.ts";

test("a partition that stays unreadable is reported after five seconds, until it works again", () => {
  const warnings = new Map<string, string | undefined>();
  let now = 1_000;
  const troubles = new PartitionTroubles(
    (key, message) => void warnings.set(key, message),
    () => now,
  );
  troubles.failed("t/0", "LEADER_NOT_AVAILABLE");
  now += 4_999;
  troubles.failed("t/0", "UNKNOWN_TOPIC_OR_PARTITION");
  expect(warnings.size).toBe(0);
  now += 1;
  troubles.failed("t/0", "UNKNOWN_TOPIC_OR_PARTITION");
  troubles.failed("t/1", "LEADER_NOT_AVAILABLE");
  expect([...warnings]).toEqual([
    ["partition:t/0", "Partition t/0 has not been readable for 5 s: UNKNOWN_TOPIC_OR_PARTITION."],
  ]);
  troubles.worked("t/0");
  expect(warnings.get("partition:t/0")).toBeUndefined();
  // The time starts again.
  troubles.failed("t/0", "LEADER_NOT_AVAILABLE");
  expect(warnings.get("partition:t/0")).toBeUndefined();
});
