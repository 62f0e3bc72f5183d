import { expect, test } from "vitest";
import { BrokerError, brokerSourceError, failureOfPartition, LoginError, UnreachableBroker } from "./failures.ts";
import { kafkaCodes } from "./protocol/error-codes.ts";

const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });

test("every broker that cannot be reached is named with its own reason", () => {
  const reasons = [
    new UnreachableBroker({ host: "one", port: 9092 }, refused),
    new UnreachableBroker({ host: "::1", port: 9093 }, new Error("connecting timed out")),
  ];
  expect(brokerSourceError(new AggregateError(reasons))).toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringMatching(
      /^No broker can be reached: nothing listens at one:9092.*; no answer from \[::1\]:9093/,
    ),
    issues: [{ path: "source.messageBroker.brokers" }],
  });
});

test("a login at a listener without SASL is told as that", () => {
  const failure = brokerSourceError(new UnreachableBroker({ host: "one", port: 1 }, new LoginError("listener")));
  expect(failure).toMatchObject({
    code: "SOURCE_UNAUTHORIZED",
    issues: [{ path: "source.messageBroker.credentials" }],
  });
  expect(failure.message).toContain("takes no SASL login");
});

test("a pattern in place of a topic's name is the configuration's fault, not the broker's", () => {
  expect(failureOfPartition("ord*", kafkaCodes.INVALID_TOPIC_EXCEPTION)).toMatchObject({
    code: "SOURCE_INVALID",
    issues: [{ path: "source.messageBroker.topics" }],
  });
});

test("an error of the protocol has the protocol's name", () => {
  const answered = new BrokerError("x", kafkaCodes.SECURITY_DISABLED);
  const failure = brokerSourceError(new UnreachableBroker({ host: "one", port: 1 }, answered));
  expect(failure.message).toContain("one:1 answers with the error SECURITY_DISABLED");
});
