/** The server of listeners that terminate TLS, with the same limits as those without. */
import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { ClientConnections } from "./connections.ts";

export type TlsFiles = { readonly key: string | Buffer; readonly cert: string | Buffer };

const handshakeTimeoutMs = 10_000;
/** A larger high-water mark than the default 64 KiB: otherwise every chunk waits until the previous one is sent. */
const bufferedBytes = 1_048_576;

/** Options of the sockets of listeners in this process. */
export const socketOptions = { noDelay: true, keepAlive: true, highWaterMark: bufferedBytes } as const;

/** Hands connections to `connections` once the handshake is complete; `isClosed`: closes them instead. */
export function tlsServerFor(connections: ClientConnections, tls: TlsFiles, isClosed: () => boolean): Server {
  const options = { ...socketOptions, ...tls, ALPNProtocols: ["http/1.1"], handshakeTimeout: handshakeTimeoutMs };
  const server = createServer(options);
  server.on("secureConnection", (socket: TLSSocket) => adopt(connections, socket, isClosed));
  return server;
}

/** As `tlsServerFor` for one connection. */
export function adopt(connections: ClientConnections, socket: Socket, isClosed: () => boolean): void {
  socket.on("error", () => {});
  if (isClosed()) socket.destroy();
  else connections.adopt(socket);
}
