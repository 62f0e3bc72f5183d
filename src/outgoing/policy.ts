/** The rule for outgoing connections: which resolved addresses may be connected to. */
import { type BlockList, isIP } from "node:net";
import type { OwnPort } from "../lib/own-ports.ts";
import { type AddressClass, classOf, isOwnAddress, listOf, parseNetwork } from "./addresses.ts";

const words = ["any", "public", "private", "loopback"] as const;

/** A policy as data: it is sent to pipe workers in their job. */
export type OutgoingRules = {
  /** Words and networks, as `parseReach` returns them. An empty list allows nothing. */
  readonly reach: readonly string[];
  /** Flag of the operator's setting, named in errors. */
  readonly setting: string;
  /** Ports of this server, those at secret addresses excepted. No setting allows them. */
  readonly ownPorts: readonly number[];
};

type Own = Pick<OwnPort, "port" | "secretHost">;

/** Why an address is refused: `own` is this server itself. */
export type Refusal = AddressClass | "own";

/**
 * Items of a setting such as `public,10.0.0.0/8`. Words: `public`, `private`, `loopback` (addresses of this machine),
 * `any` (everything except link-local and metadata addresses), `none`. Throws a TypeError that names a wrong item.
 */
export function parseReach(text: string): readonly string[] {
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  for (const item of items) {
    const isWord = item === "none" || (words as readonly string[]).includes(item);
    if (!isWord && parseNetwork(item) === undefined) {
      throw new TypeError(`"${item}" is neither a network such as 10.0.0.0/8 nor one of ${words.join(", ")}, none`);
    }
  }
  return items.filter((item) => item !== "none");
}

/**
 * The allowed addresses without the operator's setting. Only a server that listens on the network has users who have no
 * access to the networks behind it.
 */
export function defaultReach(listenHost: string): readonly string[] {
  return isLoopbackHost(listenHost) ? ["any"] : ["public"];
}

/** True for a listen address that other machines cannot reach. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? host === "localhost" : /^127\.|^::1$/.test(host);
}

export class OutgoingPolicy {
  readonly #reach: readonly string[];
  readonly #setting: string;
  #ownPorts: () => readonly Own[];
  /** Listed networks by the class of their address: see `#isListed`. */
  readonly #listed = new Map<AddressClass, BlockList>();

  /** `ownPorts`: those of this server at the time of a check, in place of the ones that the rules name. */
  constructor(rules: OutgoingRules, ownPorts: () => readonly Own[] = () => rules.ownPorts.map((port) => ({ port }))) {
    this.#reach = rules.reach;
    this.#setting = rules.setting;
    this.#ownPorts = ownPorts;
    const networks = rules.reach.filter((item) => !(words as readonly string[]).includes(item));
    for (const [name, items] of Map.groupBy(networks, (item) => classOf(parseNetwork(item)?.address ?? ""))) {
      this.#listed.set(name, listOf(items));
    }
  }

  /** Flag of the setting that would allow more. */
  get setting(): string {
    return this.#setting;
  }

  get rules(): OutgoingRules {
    const known = this.#ownPorts().filter(({ secretHost }) => secretHost === undefined);
    const ownPorts = [...new Set(known.map(({ port }) => port))];
    return { reach: this.#reach, setting: this.#setting, ownPorts };
  }

  /** What a pipe worker is told: services get ports while the server runs. */
  set ownPorts(ports: readonly number[]) {
    this.#ownPorts = () => ports.map((port) => ({ port }));
  }

  /** Why a connection to this IP address is refused; undefined when it is allowed. */
  refusalOf(address: string, port: number): Refusal | undefined {
    if (this.#isOwn(address, port)) return "own";
    const found = classOf(address);
    const isSpecial = found === "metadata" || found === "link-local";
    if (this.#reach.includes(found)) return undefined;
    if (!isSpecial && this.#reach.includes("any")) return undefined;
    return this.#isListed(address, found, isSpecial) ? undefined : found;
  }

  #isOwn(address: string, port: number): boolean {
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const isAt = (host: string) => listOf([host]).check(address, family);
    const own = this.#ownPorts().filter((one) => one.port === port);
    return own.some(({ secretHost }) => (secretHost === undefined ? isOwnAddress(address) : isAt(secretHost)));
  }

  /**
   * A wide network such as 0.0.0.0/0 does not include link-local and metadata addresses: those must be listed
   * explicitly.
   */
  #isListed(address: string, found: AddressClass, isSpecial: boolean): boolean {
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const lists = isSpecial ? [this.#listed.get(found)] : [...this.#listed.values()];
    return lists.some((list) => list?.check(address, family) === true);
  }
}

/** Judges addresses that Millrace takes from a cluster which runs its services: no user writes them. */
export const managedPolicy = new OutgoingPolicy({ reach: ["any"], setting: "", ownPorts: [] });
