/** HTTP clients whose connections are opened by a dialer. None of them follows redirects. */
import type * as Https from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Agent } from "../lib/node-http.ts";
import { Dialer } from "./dialer.ts";
import type { OutgoingPolicy } from "./policy.ts";

const https: typeof Https = process.getBuiltinModule("node:https");

type AgentOptions = {
  readonly keepAlive?: boolean;
  readonly maxSockets?: number;
  readonly timeout?: number;
  /** Certificates in PEM that are trusted instead of the public authorities. */
  readonly ca?: string;
  /** A shared agent outlives its users: the first client that is closed must not end the connections of others. */
  readonly isShared?: boolean;
};

/** As in the AWS clients. */
const defaults: AgentOptions = { keepAlive: true, maxSockets: 50 };

type Created = (error: Error | null, socket: Duplex) => void;
type Wanted = { readonly host?: string | null; readonly port?: number | string | null };

export type Agents = { readonly http: Agent; readonly https: Https.Agent };

/** Agents for `http:` and `https:`. Their idle connections do not keep the process alive. */
export function agentsOf(dialer: Dialer, options: AgentOptions = defaults): Agents {
  return { http: guard(new Agent(options), dialer, options), https: guard(new https.Agent(options), dialer, options) };
}

function guard<A extends Agent>(agent: A, dialer: Dialer, { isShared = false }: AgentOptions): A {
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback?: Created) =>
    guarded(dialer, options, callback, (safe) => create(safe, callback));
  if (isShared) agent.destroy = () => {};
  return agent;
}

/** The agent of a client of one server. */
export function serverAgent(dialer: Dialer, tls: { readonly ca?: string } | undefined): Agent {
  const agents = agentsOf(dialer, { keepAlive: true, maxSockets: 64, ...tls });
  return tls === undefined ? agents.http : agents.https;
}

const shared = new WeakMap<OutgoingPolicy, Map<string, Agents>>();
/** Several times what one client needs; an idle connection is closed after a while. */
const sharedOptions: AgentOptions = { keepAlive: true, maxSockets: 256, timeout: 60_000, isShared: true };

/**
 * Agents that all clients of an organization under this policy share, for requests that each carry their own
 * signature: many clients of one server then need few connections. `field` is that of `Dialer`.
 */
export function sharedAgents(policy: OutgoingPolicy, organizationId: string, field: string): Agents {
  const known = shared.get(policy) ?? new Map<string, Agents>();
  shared.set(policy, known);
  const key = `${organizationId} ${field}`;
  const agents = known.get(key) ?? agentsOf(new Dialer(policy, field), sharedOptions);
  known.set(key, agents);
  return agents;
}

/** `createConnection` of `http2.connect`, for TLS. Throws SOURCE_ADDRESS_REFUSED. */
export function http2Connection(dialer: Dialer): (authority: URL) => Socket {
  return ({ hostname, port }) => {
    const host = hostname.replaceAll(/[[\]]/g, "");
    const target = { host, port: Number(port || 443) };
    const refused = dialer.literalRefusal(target);
    // A session cannot be created from a failed socket.
    if (refused !== undefined) throw refused;
    // An IP address may not be sent as a server's name.
    return dialer.connectTls({ ...target, ALPNProtocols: ["h2"], ...(isIP(host) === 0 ? { servername: host } : {}) });
  };
}

function guarded(
  dialer: Dialer,
  options: object,
  callback: Created | undefined,
  create: (options: object) => Duplex | null | undefined,
): Duplex | null | undefined {
  const { host, port } = options as Wanted;
  // Some clients keep the brackets of an IPv6 address.
  const target = { host: (host ?? "localhost").replaceAll(/[[\]]/g, ""), port: Number(port) };
  const refused = dialer.literalRefusal(target);
  if (refused === undefined) return create({ ...options, host: target.host, lookup: dialer.lookup(target.port) });
  // If a socket failed before the agent has seen it, nothing would handle the error.
  if (callback !== undefined) process.nextTick(callback, refused);
  return undefined;
}
