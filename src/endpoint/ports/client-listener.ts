/**
 * A listener for clients: reads the PROXY headers of trusted proxies, and terminates TLS. Without TLS nothing is read
 * of a connection but its header, so that another process can continue with it.
 */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import type { TlsSource } from "../../lib/certificate-files.ts";
import { listenOn } from "../../lib/listen.ts";
import { aheadOf, namedClientOf, setClient } from "../connections/client-address.ts";
import type { TrustedProxies } from "../proxy-protocol/trusted-proxies.ts";

export type ClientListenerOptions = {
  readonly tls?: TlsSource | undefined;
  readonly proxies?: TrustedProxies | undefined;
  /** Receives every connection, after the handshake if there is one. */
  readonly onClient: (socket: Socket) => void;
  /** Receives errors of the listener after it was opened. */
  readonly onError: (error: Error) => void;
};

const handshakeTimeoutMs = 10_000;
/** A larger high-water mark than the default 64 KiB: otherwise every chunk waits until the previous one is sent. */
const sockets = { noDelay: true, keepAlive: true, highWaterMark: 1_048_576 };

export class ClientListener {
  readonly #options: ClientListenerOptions;
  readonly #server: Server;
  readonly #tls: TlsServer | undefined;
  /** Connections that `onClient` has not received yet. */
  readonly #early = new Set<Socket>();
  /** Clients of connections during the handshake, by the address and port of the other end. */
  readonly #identified = new Map<string, { readonly address: string | undefined }>();
  #forgetTls = () => {};
  #port: number | undefined;
  #isClosed = false;

  constructor(options: ClientListenerOptions) {
    const { tls, proxies, onClient } = options;
    this.#options = options;
    // Paused: the process that serves the connection reads what the client has sent.
    const paused = { pauseOnConnect: true, allowHalfOpen: tls === undefined };
    this.#server = createServer({ ...sockets, ...paused });
    this.#tls = tls && this.#terminating(tls);
    const next = this.#tls === undefined ? onClient : (socket: Socket) => this.#handshake(socket);
    this.#server.on("connection", (socket: Socket) => {
      socket.on("error", () => {});
      if (proxies === undefined) return next(socket);
      this.#early.add(socket);
      socket.once("close", () => this.#early.delete(socket));
      proxies.identify(socket, (identified) => {
        this.#early.delete(socket);
        if (this.#isClosed) identified.destroy();
        else next(identified);
      });
    });
  }

  /** Undefined while it is not open. */
  get port(): number | undefined {
    return this.#isClosed ? undefined : this.#port;
  }

  /** Resolves with the port; port 0 selects a free one. Rejects when it cannot be bound. */
  async listen(at: { readonly host: string; readonly port: number }): Promise<number> {
    this.#port = await listenOn(this.#server, at, this.#options.onError);
    return this.#port;
  }

  /** Frees the port. Connections that `onClient` has received stay open. */
  close(): void {
    this.#isClosed = true;
    this.#forgetTls();
    // Its callback is not awaited: Node never calls it after the end of a process that was sent a connection.
    if (this.#server.listening) this.#server.close();
    for (const socket of this.#early) socket.destroy();
  }

  #terminating(tls: TlsSource): TlsServer {
    const options = { ...sockets, ...tls.pair, ALPNProtocols: ["http/1.1"], handshakeTimeout: handshakeTimeoutMs };
    const server = createTlsServer(options);
    this.#forgetTls = tls.onRenewed((pair) => server.setSecureContext(pair));
    server.on("secureConnection", (socket: TLSSocket) => {
      socket.on("error", () => {});
      const client = this.#identified.get(peerOf(socket));
      // A connection that is broken already has no peer any more. It must not pass for one of the proxy itself.
      if (client === undefined || this.#isClosed) return socket.destroy();
      if (client.address !== undefined) setClient(socket, client);
      this.#options.onClient(socket);
    });
    return server;
  }

  #handshake(socket: Socket): void {
    const peer = peerOf(socket);
    this.#identified.set(peer, { address: namedClientOf(socket) });
    socket.once("close", () => this.#identified.delete(peer));
    const ahead = aheadOf(socket);
    if (ahead !== undefined && ahead.length > 0) socket.unshift(ahead);
    this.#tls?.emit("connection", socket);
  }
}

function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
