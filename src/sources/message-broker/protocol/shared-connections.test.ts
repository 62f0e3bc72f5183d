/** Which pipes of a worker share connections to Kafka, and for how long. */
import { expect, test } from "vitest";
import { Dialer } from "../../../outgoing/dialer.ts";
import { OutgoingPolicy } from "../../../outgoing/policy.ts";
import type { BrokerAccess } from "../access.ts";
import { lendConnections } from "./shared-connections.ts";

const dialer = () => new Dialer(new OutgoingPolicy({ reach: ["any"], setting: "--x", ownPorts: [] }), "brokers");
const access = (more: Partial<BrokerAccess> = {}): BrokerAccess => ({
  ...{ brokers: [{ host: "127.0.0.1", port: 1 }], dialer: dialer() },
  ...{ login: { mechanism: "PLAIN", username: "u", password: "p" } },
  ...more,
});

test("pipes with the same brokers and credentials share connections, until the last one returns them", async () => {
  const [one, other] = [lendConnections(access()), lendConnections(access())];
  expect(other.connections).toBe(one.connections);
  one.release();
  one.release();
  const third = lendConnections(access());
  expect(third.connections, "the other one still has them").toBe(other.connections);
  for (const lent of [other, third]) lent.release();
  await expect(other.connections.get({ host: "127.0.0.1", port: 1 })).rejects.toThrow("the connection was closed");
  const later = lendConnections(access());
  expect(later.connections).not.toBe(other.connections);
  later.release();
});

test.each([
  ["other brokers", { brokers: [{ host: "127.0.0.1", port: 2 }] }],
  ["another password", { login: { mechanism: "PLAIN", username: "u", password: "q" } }],
  ["another certificate", { tls: { options: { cert: "c", key: "k" }, sendsName: true } }],
  ["tokens", { login: { mechanism: "OAUTHBEARER", token: async () => "t" } }],
] as const)("not with %s", (_, more) => {
  const [one, other] = [lendConnections(access()), lendConnections(access(more))];
  expect(other.connections).not.toBe(one.connections);
  for (const lent of [one, other]) lent.release();
});

test("two pipes with tokens never share", () => {
  const login = { mechanism: "OAUTHBEARER", token: async () => "t" } as const;
  const [one, other] = [lendConnections(access({ login })), lendConnections(access({ login }))];
  expect(other.connections).not.toBe(one.connections);
  for (const lent of [one, other]) lent.release();
});
