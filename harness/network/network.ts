/** Network contexts for connectors in tests: everything runs on loopback. */
import { once } from "node:events";
import { createServer } from "node:net";
import { OutgoingPolicy } from "../../src/outgoing/policy.ts";
import type { NetworkContext } from "../../src/sources/contract/source.ts";

const organizationId = "0b8f4c1e-0000-4000-8000-000000000001";

export const anyNetwork: NetworkContext = networkOf(["any"]);

export function networkOf(reach: readonly string[], ownPorts: readonly number[] = []): NetworkContext {
  const policy = new OutgoingPolicy({ reach, ownPorts, setting: "--pipe-source-networks" });
  const listenForEngine = async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    return listener;
  };
  return { policy, organizationId, permitEngine: async () => {}, listenForEngine };
}
