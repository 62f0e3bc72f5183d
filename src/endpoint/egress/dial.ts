/** Connections of the proxy: to an address that the dialer allows, within a time. */
import type { OnReadOpts, Socket } from "node:net";
import type { Dialer, DialTarget } from "../../outgoing/dialer.ts";

/** A connecting socket, which fails with ETIMEDOUT when it is not connected in time. */
export function dial(dialer: Dialer, target: DialTarget, timeoutMs: number, onread: OnReadOpts): Socket {
  const socket = dialer.connect({ ...target, noDelay: true, onread });
  const timedOut = Object.assign(new Error("connecting timed out"), { code: "ETIMEDOUT" });
  const timer = setTimeout(() => socket.destroy(timedOut), timeoutMs);
  for (const event of ["connect", "close"]) socket.once(event, () => clearTimeout(timer));
  return socket;
}
