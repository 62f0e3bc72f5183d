/**
 * Proxies in front of the listeners of this room. A connection from one of their addresses must begin with a PROXY
 * header, which is read before anything else; any other connection is that of a client, whatever it begins with.
 */
import type { Socket } from "node:net";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { accessCheck } from "../auth/access-list.ts";
import { setClient } from "../connections/client-address.ts";
import { holdReading } from "../splice/socket-handle.ts";
import { readHeader } from "./header.ts";

/** The header must be complete within this time. */
const headerTimeoutMs = 10_000;
/** A proxy that sends no headers has many connections: one line tells of all in this time. */
const logEveryMs = 60_000;

export type TrustedProxiesOptions = {
  /** Networks and addresses of the proxies. */
  readonly networks: readonly string[];
  readonly logger: LineLogger;
  readonly headerTimeoutMs?: number;
};

export class TrustedProxies {
  readonly #isProxy: (address: string | undefined) => boolean;
  readonly #logger: LineLogger;
  readonly #timeoutMs: number;
  #refused = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor({ networks, logger, headerTimeoutMs: timeoutMs = headerTimeoutMs }: TrustedProxiesOptions) {
    this.#isProxy = accessCheck(networks);
    this.#logger = logger;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Passes an accepted connection on to `use` as soon as its client is known; `setClient` has been called, and the
   * socket is not being read. Closes connections of proxies without a valid header. The socket must be paused since it
   * was accepted.
   */
  identify(socket: Socket, use: (socket: Socket) => void): void {
    if (this.#isProxy(socket.remoteAddress)) this.#readHeader(socket, use);
    else use(socket);
  }

  #readHeader(socket: Socket, use: (socket: Socket) => void): void {
    let read = Buffer.alloc(0);
    const done = () => {
      clearTimeout(timer);
      socket.off("data", onData).off("end", onEnd).off("close", done);
    };
    const refuse = (reason: string) => {
      done();
      this.#log(socket, reason);
      socket.destroy();
    };
    const timer = setTimeout(() => refuse("the PROXY header is not complete"), this.#timeoutMs);
    const onEnd = () => {
      // Health checks of proxies connect, and send nothing.
      if (read.length > 0) return refuse("the connection ends within the PROXY header");
      done();
      socket.destroy();
    };
    const onData = (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
      try {
        const header = readHeader(read);
        if (header === undefined) return;
        done();
        holdReading(socket);
        setClient(socket, { address: header.address, ahead: read.subarray(header.length) });
      } catch (error) {
        return refuse((error as Error).message);
      }
      use(socket);
    };
    socket.on("data", onData).once("end", onEnd).once("close", done);
    socket.resume();
  }

  #log(socket: Socket, reason: string): void {
    this.#refused += 1;
    const now = performance.now();
    if (now - this.#loggedAt < logEveryMs) return;
    this.#logger.warn({ proxy: socket.remoteAddress, reason, connections: this.#refused }, "proxy refused");
    this.#loggedAt = now;
    this.#refused = 0;
  }
}
