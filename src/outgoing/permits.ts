/**
 * Addresses that an engine may read on behalf of pipes, by service. SQL of the service's users has its own policy, and
 * the proxy sees only the requests of one engine: it recognises the reads of a pipe by their target.
 */
import type { DialTarget } from "./dialer.ts";

export type Permit = DialTarget & {
  /** `source`: a pipe's source, as far as the policy of pipes allows it. `worker`: a listener of a pipe worker. */
  readonly kind: "source" | "worker";
};

export class Permits {
  readonly #held = new Map<string, Set<Permit>>();

  /** Valid until the returned function is called. Throws a TypeError for a worker that is not on 127.0.0.1. */
  add(serviceId: string, permit: Permit): () => void {
    if (permit.kind === "worker" && permit.host !== "127.0.0.1") throw new TypeError("workers listen on 127.0.0.1");
    // Several pipes and checks may permit the same address.
    const own = { ...permit };
    const held = this.#held.get(serviceId) ?? new Set<Permit>();
    this.#held.set(serviceId, held.add(own));
    return () => {
      held.delete(own);
      if (held.size === 0 && this.#held.get(serviceId) === held) this.#held.delete(serviceId);
    };
  }

  /** Why the service's engine may read from this target; undefined when no pipe needs it. */
  kindOf(serviceId: string, { host, port }: DialTarget): Permit["kind"] | undefined {
    const held = [...(this.#held.get(serviceId) ?? [])];
    return held.find((permit) => permit.port === port && permit.host.toLowerCase() === host.toLowerCase())?.kind;
  }
}
