/** Opens the endpoints of services: their listeners, and the loop that opens and closes them. */
import { Loop } from "../lib/loop.ts";
import type { Leases } from "../store/leases.ts";
import type { ServiceStore } from "../store/services.ts";
import { Gateway, type GatewayOptions } from "./gateway.ts";
import { openListeners } from "./listeners.ts";

export type EndpointOptions = GatewayOptions & {
  readonly services: ServiceStore;
  /** Servers have listeners for their own engines, and all of them for external services. */
  readonly leases: Pick<Leases, "isElsewhere" | "isShared">;
  /** The address that listeners bind to. */
  readonly host: string;
  /** Receives the ports before they are opened. */
  readonly onPorts: (ports: readonly number[]) => void;
};

export type Endpoint = {
  readonly loop: Loop;
  /** The reason, as a sentence, why the service's endpoint could not be opened; undefined when it is open. */
  problemOf(serviceId: string): string | undefined;
  /** All reasons, by service. */
  problems(): ReadonlyMap<string, string>;
  close(): Promise<void>;
};

export function openEndpoint({ services, leases, host, onPorts, ...options }: EndpointOptions): Endpoint {
  const gateway = new Gateway(options);
  let problems: ReadonlyMap<string, string> = new Map();
  const body = async () => {
    problems = await openListeners(gateway, { services, leases, host, onPorts });
  };
  const loop = new Loop({ name: "gateway", everyMs: 2_000, logger: options.logger, body });
  return {
    loop,
    problemOf: (serviceId) => problems.get(serviceId),
    problems: () => problems,
    close: () => gateway.close(),
  };
}
