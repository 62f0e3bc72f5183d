/** The outgoing connections that the server's settings allow. */
import { type Config, flagName } from "./config.ts";
import { EgressProxy } from "./endpoint/egress/proxy.ts";
import { ownPorts } from "./lib/own-ports.ts";
import type { DialTarget } from "./outgoing/dialer.ts";
import { Permits } from "./outgoing/permits.ts";
import { defaultReach, OutgoingPolicy, parseReach } from "./outgoing/policy.ts";

/** The policies of pipes and engines. All of them know the ports of the server itself. */
export class Outgoing {
  readonly pipes: OutgoingPolicy;
  readonly sql: OutgoingPolicy;
  readonly webhooks: OutgoingPolicy;
  /** What engines may read on behalf of pipes. */
  readonly permits = new Permits();
  /** The engines' proxy for outgoing connections. */
  readonly proxy: EgressProxy;
  /** Listeners of pipe workers, which the workers themselves have requested. */
  readonly #workers = new OutgoingPolicy({ reach: ["loopback"], setting: "", ownPorts: [] }, () => ownPorts("clients"));

  constructor(config: Config) {
    const { pipeSourceNetworks: pipes, sqlNetworks, webhookNetworks } = config;
    this.pipes = policyOf(reachOf(pipes) ?? defaultReach(config.host), "pipeSourceNetworks");
    this.sql = policyOf(reachOf(sqlNetworks ?? pipes) ?? ["public"], "sqlNetworks");
    this.webhooks = policyOf(reachOf(webhookNetworks ?? pipes) ?? ["public"], "webhookNetworks");
    this.proxy = new EgressProxy({ policyFor: (serviceId, target) => this.#policyFor(serviceId, target) });
  }

  #policyFor(serviceId: string, target: DialTarget): OutgoingPolicy {
    const kind = this.permits.kindOf(serviceId, target);
    if (kind === "worker") return this.#workers;
    return kind === "source" ? this.pipes : this.sql;
  }
}

function reachOf(setting: string | undefined): readonly string[] | undefined {
  return setting === undefined ? undefined : parseReach(setting);
}

function policyOf(
  reach: readonly string[],
  name: "pipeSourceNetworks" | "sqlNetworks" | "webhookNetworks",
): OutgoingPolicy {
  return new OutgoingPolicy({ reach, setting: flagName(name), ownPorts: [] }, () => ownPorts());
}
