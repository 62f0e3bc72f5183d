/** A listener that a service's engine may read from, through the proxy of its outgoing connections. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Permits } from "../../outgoing/permits.ts";

/** Opened here, in the control plane, because a pipe worker may not bind ports. `withdraw` revokes the permit. */
export async function listenForEngine(
  permits: Permits,
  serviceId: string,
): Promise<{ readonly listener: Server; readonly withdraw: () => void }> {
  // Connections wait until the recipient of the listener accepts them.
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return { listener, withdraw: permits.add(serviceId, { kind: "worker", host: "127.0.0.1", port }) };
}
