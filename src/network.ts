/** What the server may reach, by its settings. */
import { type Config, flagName } from "./config.ts";
import { defaultReach, OutgoingPolicy, parseReach } from "./outgoing/policy.ts";

/** The policies of outgoing connections. Both know the ports of the server itself. */
export class OutgoingPolicies {
  readonly pipes: OutgoingPolicy;
  readonly sql: OutgoingPolicy;
  #apiPort: number | undefined;
  #servicePorts: readonly number[] = [];

  constructor(config: Config) {
    const pipes = config.pipeSourceNetworks === undefined ? undefined : parseReach(config.pipeSourceNetworks);
    const sql = config.sqlNetworks === undefined ? undefined : parseReach(config.sqlNetworks);
    this.pipes = policyOf(pipes ?? defaultReach(config.host), "pipeSourceNetworks");
    this.sql = policyOf(sql ?? pipes ?? defaultReach(config.host), "sqlNetworks");
    this.#apiPort = config.port === 0 ? undefined : config.port;
    this.#update();
  }

  set apiPort(port: number) {
    this.#apiPort = port;
    this.#update();
  }

  set servicePorts(ports: readonly number[]) {
    this.#servicePorts = ports;
    this.#update();
  }

  #update(): void {
    const ports = [...(this.#apiPort === undefined ? [] : [this.#apiPort]), ...this.#servicePorts];
    this.pipes.ownPorts = ports;
    this.sql.ownPorts = ports;
  }
}

function policyOf(reach: readonly string[], name: "pipeSourceNetworks" | "sqlNetworks"): OutgoingPolicy {
  return new OutgoingPolicy({ reach, setting: flagName(name), ownPorts: [] });
}
