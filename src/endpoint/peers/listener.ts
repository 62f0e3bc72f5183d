/**
 * Accepts requests for the services of this server from the gateways of the other servers. Those have authenticated the
 * client and name it; the connections belong to holders of the installation's key.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { listenOn } from "../../lib/listen.ts";
import { createServer } from "../../lib/node-http.ts";
import { answerFailure } from "../answer.ts";
import type { AuthenticatedHandler } from "../auth/gatekeeper.ts";
import { principalOf } from "../forward/principal-headers.ts";
import { type PipedClient, readPiped } from "../native/pipe.ts";
import { requestUrl } from "../request-url.ts";
import { relayServer } from "./channel.ts";

export const serviceHeader = "x-millrace-service";

const maxHeaderBytes = 4 * 1_048_576;
const closeGraceMs = 2_000;

export type RelayListenerOptions = {
  readonly key: Buffer;
  readonly logger: LineLogger;
  /** Handles requests for a service, or refuses them if its engine is not here. */
  readonly handlerOf: (serviceId: string) => AuthenticatedHandler;
  /** Serves a connection of the native protocol, of which `ahead` was read. */
  readonly onNative: (serviceId: string, socket: Socket, client: PipedClient, ahead: Buffer) => void;
};

export class RelayListener {
  readonly #options: RelayListenerOptions;
  readonly #http = createServer({ maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 0, requestTimeout: 0 });
  readonly #server: ReturnType<typeof relayServer>;
  readonly #open = new Set<TLSSocket>();

  constructor(options: RelayListenerOptions) {
    this.#options = options;
    this.#server = relayServer(options.key);
    this.#http.headersTimeout = 0;
    this.#http.on("request", (message, response) => void this.#serve(message, response));
    this.#http.on("upgrade", (message: IncomingMessage, socket: Socket, ahead: Buffer) => {
      const client = readPiped(message.headers);
      if (client === undefined) socket.destroy();
      else options.onNative(String(message.headers[serviceHeader]), socket, client, ahead);
    });
    this.#server.on("secureConnection", (socket) => {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#open.delete(socket));
      this.#http.emit("connection", socket);
    });
  }

  /** Resolves with the port; 0 selects a free one. Rejects when it cannot be bound. */
  async listen(host: string, port: number): Promise<number> {
    const onError = (error: Error) => this.#options.logger.error({ err: error }, "relay failed");
    return await listenOn(this.#server, { host, port }, onError);
  }

  /** Responses in progress get a moment. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#http.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, closeGraceMs);
    await closed;
    clearTimeout(timer);
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const handler = this.#options.handlerOf(String(message.headers[serviceHeader]));
      await handler(message, response, requestUrl(message), principalOf(message));
    } catch (error) {
      answerFailure(message, response, error, this.#options.logger, { loggedIn: true });
    }
  }
}
