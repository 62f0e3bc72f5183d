/**
 * Opens outgoing connections under a policy. The address is checked after the name is resolved, and the connection goes
 * to exactly the checked address, so that a name which changes its address in between gains nothing.
 */
import { lookup as dnsLookup } from "node:dns";
import { isIP, type LookupFunction, Socket, type SocketConstructorOpts, type TcpSocketConnectOpts } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { AppError, memberError } from "../lib/errors.ts";
import type { OutgoingPolicy, Refusal } from "./policy.ts";

type Connect = (this: Socket, options: TcpSocketConnectOpts) => Socket;

export type DialTarget = { readonly host: string; readonly port: number };

export class Dialer {
  readonly #policy: OutgoingPolicy;
  /** The member of the request that names the address, such as `source.relationalDb.host`. */
  readonly field: string;

  constructor(policy: OutgoingPolicy, field: string) {
    this.#policy = policy;
    this.field = field;
  }

  /**
   * A connecting socket. It fails with SOURCE_ADDRESS_REFUSED for a refused address, as for one that is unreachable.
   */
  connect(options: TcpSocketConnectOpts & SocketConstructorOpts): Socket {
    return this.attach(new Socket(options), { ...options, host: options.host ?? "localhost" });
  }

  /** The same for an existing socket that is not connected; `connect` is its own method. */
  attach(socket: Socket, options: TcpSocketConnectOpts & DialTarget, connect: Connect = socket.connect): Socket {
    const refused = this.literalRefusal(options);
    if (refused !== undefined) return socket.destroy(refused);
    return connect.call(socket, { ...options, lookup: this.lookup(options.port) });
  }

  /** The same with TLS. */
  connectTls(options: ConnectionOptions & DialTarget): Socket {
    const refused = this.literalRefusal(options);
    if (refused !== undefined) return new Socket().destroy(refused);
    return connectTls({ ...options, lookup: this.lookup(options.port) });
  }

  /** Node does not look up an IP address given in place of a name, so `lookup` alone would not check it. */
  literalRefusal({ host, port }: DialTarget): AppError | undefined {
    if (isIP(host) === 0) return undefined;
    const refusal = this.#policy.refusalOf(host, port);
    return refusal && this.#error(host, refusal);
  }

  /** A resolver for `net.connect` that returns allowed addresses only; it fails when the name has none. */
  lookup(port: number): LookupFunction {
    return (host, options, callback) => {
      dnsLookup(host, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, []);
        const verdicts = addresses.map((entry) => this.#policy.refusalOf(entry.address, port));
        const allowed = addresses.filter((_, index) => verdicts[index] === undefined);
        const [first] = allowed;
        if (first === undefined) return callback(this.#error(host, verdicts[0] ?? "reserved"), []);
        if (options.all === true) callback(null, allowed);
        else callback(null, first.address, first.family);
      });
    };
  }

  /** Reveals nothing about a listener there, because no connection was attempted. */
  #error(host: string, refusal: Refusal): AppError {
    const message = `${refusalText(host, refusal)}${remedy(refusal, this.#policy.setting)}`;
    return memberError("SOURCE_ADDRESS_REFUSED", this.field, message);
  }
}

/** The rule in words; the resolved address itself stays private. */
export function refusalText(host: string, refusal: Refusal): string {
  const verb = isIP(host) === 0 ? "resolves to" : "is";
  if (refusal === "own") return `${host} ${verb} this server itself`;
  if (refusal === "loopback") return `${host} ${verb} an address of the machine that the server runs on`;
  return `${host} ${verb} a ${refusal} address`;
}

function remedy(refusal: Refusal, setting: string): string {
  if (refusal === "own") return ", which cannot be allowed";
  return `, which is not allowed; the operator of the server can allow its network with ${setting}`;
}

/** The refusal in an error that a client library may have wrapped or copied; undefined for every other failure. */
export function addressRefusalOf(error: unknown, depth = 0): AppError | undefined {
  if (typeof error !== "object" || error === null || depth > 5) return undefined;
  if (error instanceof AppError) return error.code === "SOURCE_ADDRESS_REFUSED" ? error : undefined;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (code === "SOURCE_ADDRESS_REFUSED") {
    const [, path = "", text = ""] = /^(\S+): (.*)$/s.exec(String(message)) ?? [];
    return new AppError(code, String(message), { cause: error, issues: [{ path, message: text }] });
  }
  return addressRefusalOf(cause, depth + 1);
}
