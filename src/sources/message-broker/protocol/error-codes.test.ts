import { expect, test } from "vitest";
import { protocolErrorsCodesById } from "../../../../node_modules/@platformatic/kafka/dist/protocol/errors.js";
import { isPassing, kafkaCodes, nameOf } from "./error-codes.ts";

test("codes have the protocol's names", () => {
  const theirs = protocolErrorsCodesById as Record<number, string>;
  for (const [name, code] of Object.entries(kafkaCodes)) expect(theirs[code], `${code}`).toBe(name);
});

test("a code without a name here is told by its number", () => {
  expect([nameOf(kafkaCodes.TOPIC_AUTHORIZATION_FAILED), nameOf(119)]).toEqual(["TOPIC_AUTHORIZATION_FAILED", "119"]);
});

test("a new leader passes by itself; a compression that the broker cannot give, or a missing right, does not", () => {
  expect([kafkaCodes.NOT_LEADER_OR_FOLLOWER, kafkaCodes.NOT_COORDINATOR].map(isPassing)).toEqual([true, true]);
  expect([kafkaCodes.UNSUPPORTED_COMPRESSION_TYPE, kafkaCodes.TOPIC_AUTHORIZATION_FAILED, 0].map(isPassing)).toEqual([
    false,
    false,
    false,
  ]);
});
