/** The way in which this program binds a port: an own port, from then on. */
import type { AddressInfo, Server } from "node:net";
import { addOwnPort, type OwnPort } from "./own-ports.ts";

/**
 * Resolves with the port once the server listens; port 0 selects a free one. Rejects when it cannot be bound. Later
 * errors, such as too many open files, go to `onError`.
 */
export async function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  onError: (error: Error) => void,
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", onError);
  return announced(server);
}

/** The port of a server that listens already, which becomes an own port until the server is closed. */
export function announced(server: Server, more: Partial<OwnPort> = {}): number {
  const { port } = server.address() as AddressInfo;
  addOwnPort({ port, isOpen: () => server.listening, ...more });
  return port;
}
