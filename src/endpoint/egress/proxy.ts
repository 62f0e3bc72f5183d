/**
 * The engines' access to the network: an HTTP proxy on loopback, one port per service, because ClickHouse sends no
 * credentials to a proxy. An engine that the kernel confines to its port reaches nothing else. Every request is
 * checked: the proxy resolves names, and connects to exactly an address that was checked.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { OnReadOpts, Socket } from "node:net";
import { listenOn } from "../../lib/listen.ts";
import { createServer } from "../../lib/node-http.ts";
import { Dialer, type DialTarget } from "../../outgoing/dialer.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import { Upstream } from "../forward/upstream.ts";
import { dial } from "./dial.ts";
import { forwardProxyRequest } from "./proxy-requests.ts";
import { openTunnel } from "./proxy-tunnel.ts";

/** Signed requests with session tokens have a few KiB. */
const maxHeaderBytes = 64 * 1024;
const headersTimeoutMs = 10_000;
/** An idle connection to an object store is closed before the store closes it. */
const idleMs = 5_000;

export type EgressProxyOptions = {
  /** The policy for a target of the service. */
  readonly policyFor: (serviceId: string, target: DialTarget) => OutgoingPolicy;
  /** Maximum number of concurrent connections of one service. Further ones are closed. Default 512. */
  readonly connections?: number;
  /** Timeout for establishing a connection. Default 10 s. */
  readonly connectTimeoutMs?: number;
};

type Listener = { readonly server: Server; readonly port: number; close(): void };

export class EgressProxy {
  readonly #options: EgressProxyOptions;
  readonly #listeners = new Map<string, Promise<Listener>>();

  constructor(options: EgressProxyOptions) {
    this.#options = options;
  }

  /** Opens the service's port, or returns the open one. */
  async open(serviceId: string): Promise<{ readonly port: number; readonly url: string }> {
    const opening = this.#listeners.get(serviceId) ?? this.#listen(serviceId);
    this.#listeners.set(serviceId, opening);
    try {
      const { port } = await opening;
      return { port, url: `http://127.0.0.1:${port}` };
    } catch (error) {
      if (this.#listeners.get(serviceId) === opening) this.#listeners.delete(serviceId);
      throw error;
    }
  }

  /** Closes the service's port and breaks its connections. */
  async close(serviceId: string): Promise<void> {
    const opening = this.#listeners.get(serviceId);
    this.#listeners.delete(serviceId);
    const listener = await opening?.catch(() => undefined);
    if (listener === undefined) return;
    const closed = once(listener.server, "close");
    listener.close();
    await closed;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#listeners.keys()].map((serviceId) => this.close(serviceId)));
  }

  async #listen(serviceId: string): Promise<Listener> {
    const { policyFor, connections = 512, connectTimeoutMs = 10_000 } = this.#options;
    const dialerFor = (target: DialTarget) => new Dialer(policyFor(serviceId, target), "address");
    const upstreams = new Map<string, Upstream>();
    // A kept connection serves only requests of the same target under the same policy.
    const upstreamTo = (target: DialTarget) => {
      const policy = policyFor(serviceId, target);
      const key = `${policy.setting} ${target.host}:${target.port}`;
      const known = upstreams.get(key);
      if (known !== undefined) return known;
      const dialer = new Dialer(policy, "address");
      const open = (onread: OnReadOpts) => dial(dialer, target, connectTimeoutMs, onread);
      const created = new Upstream({ open, readyEvent: "connect", idleMs }, () => void upstreams.delete(key));
      upstreams.set(key, created);
      return created;
    };
    const server = createServer({ maxHeaderSize: maxHeaderBytes, headersTimeout: headersTimeoutMs, requestTimeout: 0 });
    const sockets = new Set<Socket>();
    server.maxConnections = connections;
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    server.on("request", (request, response) => forwardProxyRequest(upstreamTo, request, response));
    server.on("connect", (request, socket, head) =>
      openTunnel({ dialerFor, connectTimeoutMs }, request.url ?? "", socket as Socket, head),
    );
    // Without a listener for errors of `accept`, too many open files would end this process.
    const port = await listenOn(server, { host: "127.0.0.1", port: 0 }, () => {});
    const close = () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      for (const upstream of upstreams.values()) upstream.close();
    };
    return { server, port, close };
  }
}
