/** A listener that a service's engine may read from, through the proxy of its outgoing connections. */
import { once } from "node:events";
import { createServer, isIP, type Server } from "node:net";
import type { ClickHouseAddress } from "../../../clickhouse/client.ts";
import { AppError } from "../../../lib/errors.ts";
import { announced } from "../../../lib/listen.ts";
import { classOf } from "../../../outgoing/addresses.ts";
import type { Permits } from "../../../outgoing/permits.ts";

/**
 * Opened here, in the control plane, because a pipe worker may not bind ports. `withdraw` revokes the permit. Throws
 * DESTINATION_INVALID for a server on another machine, which would not reach it, and with `isSure` for each that is not
 * an engine of ours.
 */
export async function listenForEngine(
  permits: Permits,
  serviceId: string,
  engine: ClickHouseAddress | undefined,
  isSure = false,
): Promise<{ readonly listener: Server; readonly withdraw: () => void }> {
  if (engine?.isExternal === true && (isSure || !isHere(engine.host)))
    throw new AppError("DESTINATION_INVALID", tooFar);
  // Connections wait until the recipient of the listener accepts them.
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  let isPermitted = true;
  // A worker that has received the listener may have it open when it is closed here.
  const port = announced(listener, { serves: "engines", isOpen: () => isPermitted || listener.listening });
  const forbid = permits.add(serviceId, { kind: "worker", host: "127.0.0.1", port });
  const withdraw = () => {
    isPermitted = false;
    forbid();
  };
  return { listener, withdraw };
}

const tooFar =
  "These objects pass through Millrace, to which the service's ClickHouse server has no connection, because it is on " +
  "another machine: objects of Azure, and text compressed with bzip2. Use S3 or GCS, and another compression.";

function isHere(host: string): boolean {
  return host === "localhost" || (isIP(host) !== 0 && classOf(host) === "loopback");
}
