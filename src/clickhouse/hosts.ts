/**
 * The hosts of one server or cluster: which one is asked first, and after which failure another one is asked. To repeat
 * a statement there is harmless: inserts carry tokens, and the other hosts know them too.
 */
import { createHash } from "node:crypto";
import type { ClientRequest } from "node:http";
import { codesOf } from "./error-codes.ts";

export type Host = { readonly host: string; readonly port: number };

/** A host that failed comes last for this long. */
const restMs = 60_000;

/** The host cannot do now what another one may be able to do. */
const elsewhereCodes = codesOf(
  "TIMEOUT_EXCEEDED",
  "TOO_MANY_SIMULTANEOUS_QUERIES",
  "SOCKET_TIMEOUT",
  "NETWORK_ERROR",
  "NO_ZOOKEEPER",
  "TABLE_IS_READ_ONLY",
  "ALL_CONNECTION_TRIES_FAILED",
  "UNKNOWN_STATUS_OF_INSERT",
  "KEEPER_EXCEPTION",
);

/** True for an engine's code after which another host is asked. */
export function isForAnotherHost(code: number): boolean {
  return elsewhereCodes.has(code);
}

/** Which hosts failed lately. Every client of a process shares one, because clients live for seconds. */
export class HostHealth {
  readonly #failedAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The hosts in the order in which they are asked: those that work first. `first` rotates those. */
  order<H extends Host>(hosts: readonly H[], first = 0): H[] {
    const healthy = hosts.filter((host) => !this.#isResting(host));
    const start = healthy.length === 0 ? 0 : first % healthy.length;
    const resting = hosts.filter((host) => this.#isResting(host));
    const since = (host: Host) => this.#failedAt.get(keyOf(host)) ?? 0;
    resting.sort((one, other) => since(one) - since(other));
    return [...healthy.slice(start), ...healthy.slice(0, start), ...resting];
  }

  /**
   * The same, but the first one depends on `key` alone as long as the same hosts work: whoever uses the same key asks
   * the same host, in every process and whatever the order of `hosts` is.
   */
  orderFor<H extends Host>(hosts: readonly H[], key: string): H[] {
    const rank = new Map(hosts.map((host) => [host, digestOf(`${key}\0${keyOf(host)}`)]));
    const ranked = [...hosts].sort((one, other) => ((rank.get(one) ?? "") < (rank.get(other) ?? "") ? -1 : 1));
    return this.order(ranked);
  }

  failed(host: Host): void {
    this.#failedAt.set(keyOf(host), this.#now());
  }

  answered(host: Host): void {
    this.#failedAt.delete(keyOf(host));
  }

  #isResting(host: Host): boolean {
    const at = this.#failedAt.get(keyOf(host));
    return at !== undefined && this.#now() - at < restMs;
  }
}

export const hostHealth = new HostHealth();

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function keyOf({ host, port }: Host): string {
  return `${host}\0${port}`;
}

/** Destroys the request when its connection has not been made within `ms`. Waiting for a free one does not count. */
export function limitConnecting(outgoing: ClientRequest, ms: number): void {
  outgoing.on("socket", (socket) => {
    if (!socket.connecting) return;
    const giveUp = () => outgoing.destroy(new Error(`timed out: no connection within ${ms / 1000} s`));
    const timer = setTimeout(giveUp, ms);
    const end = () => clearTimeout(timer);
    socket.once("connect", end);
    socket.once("close", end);
  });
}
