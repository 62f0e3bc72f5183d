/**
 * The gateway: one listener with the endpoints of all services, which clients choose by host name. Requests pass
 * through this process to the engine, as those of TLS connections at the services' own ports do.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TlsSource } from "../../lib/certificate-files.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { ClientListener } from "../client-listener.ts";
import { ClientConnections } from "../connections/connections.ts";
import type { TrustedProxies } from "../proxied/trusted-proxies.ts";

export type NameGatewayOptions = {
  readonly tls?: TlsSource | undefined;
  /** Proxies whose connections begin with a PROXY header; undefined: there are none. */
  readonly proxies?: TrustedProxies | undefined;
  readonly logger: LineLogger;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
};

const closeGraceMs = 2_000;

export class NameGateway {
  readonly #connections: ClientConnections;
  readonly #clients: ClientListener;
  #isClosed = false;

  constructor({ tls, proxies, logger, onRequest }: NameGatewayOptions) {
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
    await this.#connections.close(closeGraceMs);
  }

  #adopt(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    else this.#connections.adopt(socket);
  }
}
