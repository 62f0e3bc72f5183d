/**
 * The gateway: one listener with the endpoints of all services, which clients choose by host name. Requests pass
 * through this process to the engine, as those of TLS connections at the services' own ports do. With TLS it has the
 * native protocol too.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { TlsSource } from "../../lib/certificate-files.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { makeRoom } from "../auth/logged-in.ts";
import { namedClientOf, setClient } from "../connections/client-address.ts";
import { ClientConnections } from "../connections/connections.ts";
import { ClientListener } from "../ports/client-listener.ts";
import type { TrustedProxies } from "../proxy-protocol/trusted-proxies.ts";
import { holdReading } from "../splice/socket-handle.ts";

export type NameGatewayOptions = {
  readonly tls?: TlsSource | undefined;
  /** Proxies whose connections begin with a PROXY header; undefined: there are none. */
  readonly proxies?: TrustedProxies | undefined;
  readonly logger: LineLogger;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  /** Receives connections of the native protocol, of which nothing was read but what `setClient` knows. */
  readonly onNative: (socket: TLSSocket) => void;
};

/** The packet that begins a connection of the native protocol. No request begins with this byte. */
const nativeHello = 0;
/** As long as a connection without a request stays open. */
const silenceMs = 30_000;

const closeGraceMs = 2_000;

export class NameGateway {
  readonly #connections: ClientConnections;
  readonly #clients: ClientListener;
  readonly #onNative: (socket: TLSSocket) => void;
  /** Connections that have not sent their first byte. */
  readonly #silent = new Set<Socket>();
  #isClosed = false;

  constructor({ tls, proxies, logger, onRequest, onNative }: NameGatewayOptions) {
    this.#onNative = onNative;
    // A missing header gets an error that says so.
    this.#connections = new ClientConnections({ onRequest, requireHostHeader: false });
    const onError = (error: Error) => logger.error({ err: error }, "gateway failed");
    this.#clients = new ClientListener({ tls, proxies, onClient: (socket) => this.#adopt(socket), onError });
  }

  /** Resolves with the port; 0 selects a free one. Rejects when it cannot be bound. */
  async listen(host: string, port: number): Promise<number> {
    return await this.#clients.listen({ host, port });
  }

  /** Responses in progress get a moment. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#clients.close();
    for (const socket of this.#silent) socket.destroy();
    await this.#connections.close(closeGraceMs);
  }

  #adopt(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    else if (socket instanceof TLSSocket) this.#listen(socket);
    else this.#connections.adopt(socket);
  }

  /** Waits for the first byte, which tells the protocol. */
  #listen(socket: TLSSocket): void {
    this.#silent.add(socket);
    makeRoom(socket, this.#silent);
    const timer = setTimeout(() => socket.destroy(), silenceMs);
    const done = () => {
      clearTimeout(timer);
      this.#silent.delete(socket);
    };
    socket.once("close", done).once("data", (ahead: Buffer) => {
      socket.off("close", done);
      done();
      holdReading(socket);
      setClient(socket, { address: namedClientOf(socket), ahead });
      if (ahead[0] === nativeHello) this.#onNative(socket);
      else this.#connections.adopt(socket);
    });
  }
}
