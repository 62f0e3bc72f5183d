/** Opens the endpoints of services: their listeners, the gateway, and the loop that keeps both up to date. */
import { Loop } from "../lib/loop.ts";
import type { PortRange } from "../lib/port-range.ts";
import type { Leases } from "../store/nodes/leases.ts";
import type { ServiceStore } from "../store/services/services.ts";
import { Gateway, type GatewayOptions } from "./gateway/gateway.ts";
import type { RequestTaker } from "./hosts/named-services.ts";
import { type HostNamesOptions, openHostNames } from "./hosts/open.ts";
import { openListeners } from "./ports/listeners.ts";
import { ServicePorts } from "./ports/service-ports.ts";
import { TrustedProxies } from "./proxy-protocol/trusted-proxies.ts";

export type EndpointOptions = Omit<GatewayOptions, "proxies"> & {
  readonly services: ServiceStore;
  /** Servers have listeners for their own engines, and all of them for external services. */
  readonly leases: Pick<Leases, "isElsewhere" | "isShared" | "peers">;
  /** The address that listeners bind to. */
  readonly host: string;
  /** False: services have no listeners of their own. */
  readonly hasPorts: boolean;
  /** The ports of the native protocol; undefined: services have none. */
  readonly nativePorts: PortRange | undefined;
  /** Networks of proxies whose connections begin with a PROXY header; undefined: there are none. */
  readonly proxyNetworks?: readonly string[] | undefined;
  /** The gateway, which has all endpoints by host name; undefined: there is none. */
  readonly names?: HostNamesOptions | undefined;
};

export type Endpoint = {
  readonly loop: Loop;
  /** The reason, as a sentence, why the service's endpoint could not be opened; undefined when it is open. */
  problemOf(serviceId: string): string | undefined;
  /** All reasons, by service. */
  problems(): ReadonlyMap<string, string>;
  /**
   * Opens the gateway, if there is one; `toPipes` takes the requests to the addresses of push pipes there. Resolves
   * with the address of its relay, if it has one. Rejects when a port is taken.
   */
  listen(toPipes: RequestTaker): Promise<{ readonly relay: string | undefined }>;
  close(): Promise<void>;
};

/** How long a request for an unknown name waits until the services have been read again. */
const refreshTimeoutMs = 2_000;

export function openEndpoint({
  services,
  leases,
  host,
  hasPorts,
  nativePorts: range,

  proxyNetworks,
  names: named,
  ...options
}: EndpointOptions): Endpoint {
  const { backend, logger, onEvent = () => {} } = options;
  const proxies = proxyNetworks && new TrustedProxies({ networks: proxyNetworks, logger });
  const gateway = new Gateway({ ...options, proxies });
  const refresh = () => loop.passed(refreshTimeoutMs);
  const names = named && openHostNames(named, { host, proxies, backend, logger, onEvent, refresh });
  const holders = async () =>
    (await services.listAll()).flatMap((row) => [row, { ...row, port: row.nativePort ?? row.port }]);
  const nativePorts = range && new ServicePorts({ host, range, setting: "--native-ports", services: holders });
  let problems: ReadonlyMap<string, string> = new Map();
  const body = async () => {
    // The relays of the other servers may have moved.
    if (named?.relay !== undefined) await leases.peers();
    problems = await openListeners(gateway, { services, leases, host, hasPorts, nativePorts, names, logger });
  };
  const loop: Loop = new Loop({ name: "gateway", everyMs: 2_000, logger, body });
  return {
    loop,
    problemOf: (serviceId) => problems.get(serviceId),
    problems: () => problems,
    listen: async (toPipes) => (await names?.listen(toPipes)) ?? { relay: undefined },
    close: async () => {
      await Promise.all([gateway.close(), names?.close()]);
    },
  };
}
