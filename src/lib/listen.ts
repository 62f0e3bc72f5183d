/** Opens the listeners of this room. */
import type { AddressInfo, Server } from "node:net";

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
  return (server.address() as AddressInfo).port;
}
