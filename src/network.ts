/** The outgoing connections that the server's settings allow. */
import { type Config, flagName } from "./config.ts";
import type { DialTarget } from "./outgoing/dialer.ts";
import { Permits } from "./outgoing/permits.ts";
import { defaultReach, OutgoingPolicy, parseReach } from "./outgoing/policy.ts";
import { EgressProxy } from "./outgoing/proxy.ts";

/** The policies of pipes and engines. All of them know the ports of the server itself. */
export class Outgoing {
  readonly pipes: OutgoingPolicy;
  readonly sql: OutgoingPolicy;
  /** What engines may read on behalf of pipes. */
  readonly permits = new Permits();
  /** The engines' proxy for outgoing connections. */
  readonly proxy: EgressProxy;
  /** Listeners of pipe workers, which the workers themselves have requested. */
  readonly #workers = new OutgoingPolicy({ reach: ["loopback"], setting: "", ownPorts: [] });
  #ports: Record<"api" | "services" | "proxy", readonly number[]>;

  constructor(config: Config) {
    const pipes = config.pipeSourceNetworks === undefined ? undefined : parseReach(config.pipeSourceNetworks);
    const sql = config.sqlNetworks === undefined ? undefined : parseReach(config.sqlNetworks);
    this.pipes = policyOf(pipes ?? defaultReach(config.host), "pipeSourceNetworks");
    this.sql = policyOf(sql ?? pipes ?? defaultReach(config.host), "sqlNetworks");
    this.#ports = { api: config.port === 0 ? [] : [config.port], services: [], proxy: [] };
    this.proxy = new EgressProxy({
      policyFor: (serviceId, target) => this.#policyFor(serviceId, target),
      portsChanged: (proxy) => this.listensOn({ proxy }),
    });
    this.listensOn({});
  }

  /** Sets the ports of a part of the server; no policy allows them. */
  listensOn(ports: Partial<Record<"api" | "services" | "proxy", readonly number[]>>): void {
    this.#ports = { ...this.#ports, ...ports };
    for (const policy of [this.pipes, this.sql, this.#workers]) policy.ownPorts = Object.values(this.#ports).flat();
  }

  #policyFor(serviceId: string, target: DialTarget): OutgoingPolicy {
    const kind = this.permits.kindOf(serviceId, target);
    if (kind === "worker") return this.#workers;
    return kind === "source" ? this.pipes : this.sql;
  }
}

function policyOf(reach: readonly string[], name: "pipeSourceNetworks" | "sqlNetworks"): OutgoingPolicy {
  return new OutgoingPolicy({ reach, setting: flagName(name), ownPorts: [] });
}
