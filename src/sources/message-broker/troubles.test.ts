import { expect, test } from "vitest";
import { brokerKey, partitionKey, Troubles } from "./troubles.ts";

test("a partition that stays unreadable is reported after five seconds, until it works again", () => {
  const warnings = new Map<string, string | undefined>();
  let now = 1_000;
  const troubles = new Troubles(
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
  troubles.worked(partitionKey("t/0"));
  expect(warnings.get("partition:t/0")).toBeUndefined();
  // The time starts again.
  troubles.failed("t/0", "LEADER_NOT_AVAILABLE");
  expect(warnings.get("partition:t/0")).toBeUndefined();
});

test("a broker that refuses is reported at once, until it answers or leads nothing of the pipe any more", () => {
  const warnings = new Map<string, string | undefined>();
  const troubles = new Troubles((key, message) => void warnings.set(key, message));
  for (const broker of [1, 2]) troubles.refused(brokerKey(broker), `broker ${broker} refuses`);
  expect([...warnings.values()]).toEqual(["broker 1 refuses", "broker 2 refuses"]);
  troubles.worked(brokerKey(1));
  troubles.keep(new Set([brokerKey(1), partitionKey("t/0")]));
  expect([...warnings.values()]).toEqual([undefined, undefined]);
});
