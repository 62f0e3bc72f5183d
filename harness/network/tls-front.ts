/** A TLS listener on loopback in front of a port without TLS. It presents `loopbackCertificate`. */
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer } from "node:tls";
import { loopbackCertificate } from "./loopback-certificate.ts";

export type TlsFront = AsyncDisposable & { readonly port: number };

/** `port` is looked up for every connection. */
export async function tlsFront(portOf: () => number): Promise<TlsFront> {
  const open = new Set<Socket>();
  const server = createServer(loopbackCertificate, (client) => {
    const behind = connect(portOf(), "127.0.0.1");
    client.pipe(behind).pipe(client);
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  server.on("tlsClientError", () => {});
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
