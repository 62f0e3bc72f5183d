/**
 * The gateway: one listener with the endpoints of all services, which clients choose by host name. Requests pass
 * through this process to the engine, as those of TLS connections at the services' own ports do.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { ClientConnections } from "../connections/connections.ts";
import { adopt, socketOptions, type TlsFiles, tlsServerFor } from "../connections/tls-server.ts";
import { listenOn } from "../listen.ts";

export type NameGatewayOptions = {
  readonly tls?: TlsFiles | undefined;
  readonly logger: LineLogger;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
};

const closeGraceMs = 2_000;

export class NameGateway {
  readonly #connections: ClientConnections;
  readonly #server: Server;
  readonly #logger: LineLogger;
  #isClosed = false;

  constructor({ tls, logger, onRequest }: NameGatewayOptions) {
    this.#logger = logger;
    // A missing header gets an error that says so.
    this.#connections = new ClientConnections({ onRequest, requireHostHeader: false });
    const isClosed = () => this.#isClosed;
    if (tls === undefined) {
      this.#server = createServer({ ...socketOptions, allowHalfOpen: true });
      this.#server.on("connection", (socket: Socket) => adopt(this.#connections, socket, isClosed));
    } else this.#server = tlsServerFor(this.#connections, tls, isClosed);
  }

  /** Resolves with the port; 0 selects a free one. Rejects when it cannot be bound. */
  async listen(host: string, port: number): Promise<number> {
    const onError = (error: Error) => this.#logger.error({ err: error }, "gateway failed");
    return await listenOn(this.#server, { host, port }, onError);
  }

  /** Responses in progress get a moment. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#server.listening) this.#server.close();
    await this.#connections.close(closeGraceMs);
  }
}
