/**
 * The gateway: one listener with the endpoints of all services, which clients choose by host name. Requests pass
 * through this process to the engine, as those of TLS connections at the services' own ports do.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { ClientConnections } from "../connections/connections.ts";

export type NameGatewayOptions = {
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer } | undefined;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
};

const closeGraceMs = 2_000;
const handshakeTimeoutMs = 10_000;
/** As on the services' own ports: otherwise every chunk waits until the previous one is sent. */
const bufferedBytes = 1_048_576;

export class NameGateway {
  readonly #connections: ClientConnections;
  readonly #server: Server;
  #isClosed = false;

  constructor({ tls, onRequest }: NameGatewayOptions) {
    // A missing header gets an error that says so.
    this.#connections = new ClientConnections({ onRequest, requireHostHeader: false });
    const sockets = { noDelay: true, keepAlive: true, highWaterMark: bufferedBytes };
    if (tls === undefined) {
      this.#server = createServer({ ...sockets, allowHalfOpen: true });
      this.#server.on("connection", (socket: Socket) => this.#adopt(socket));
    } else {
      const options = { ...sockets, ...tls, ALPNProtocols: ["http/1.1"], handshakeTimeout: handshakeTimeoutMs };
      this.#server = createTlsServer(options);
      this.#server.on("secureConnection", (socket: TLSSocket) => this.#adopt(socket));
    }
  }

  /** Resolves with the port; 0 selects a free one. Rejects when it cannot be bound. */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Responses in progress get a moment. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#server.listening) this.#server.close();
    await this.#connections.close(closeGraceMs);
  }

  #adopt(socket: Socket): void {
    socket.on("error", () => {});
    if (this.#isClosed) socket.destroy();
    else this.#connections.adopt(socket);
  }
}
