/** What the settings say about the endpoints of services and the gateway. */

import { nativeRange } from "../config/gateway.ts";
import type { Config } from "../config.ts";
import type { HostNamesOptions } from "../endpoint/hosts/open.ts";
import { relayKeyOf } from "../endpoint/peers/channel.ts";
import type { Certificates } from "../http/server/certificates.ts";
import { parseNetworks } from "../outgoing/addresses.ts";
import type { LeasedStores } from "../store/open.ts";

type Shared = Pick<LeasedStores, "leases" | "secretKey">;

/** Where endpoints of services are, and how clients reach them. */
export function endpointSettings(config: Config, stores: Shared, certificates: Certificates) {
  const { host, servicePorts, gatewayProxyNetworks } = config;
  return {
    host,
    hasPorts: servicePorts !== "none",
    nativePorts: nativeRange(config),
    tls: certificates.api,
    proxyNetworks: gatewayProxyNetworks === undefined ? undefined : parseNetworks(gatewayProxyNetworks),
    names: gatewayOptions(config, stores, certificates),
  };
}

/** Undefined: there is no gateway. Without a certificate of its own it has that of the API. */
function gatewayOptions(
  config: Config,
  { leases, secretKey }: Shared,
  certificates: Certificates,
): HostNamesOptions | undefined {
  const { gatewayPort: port, gatewayDomain: domain } = config;
  if (port === undefined || domain === undefined) return undefined;
  const addressOf = (nodeId: string) => leases.relayOf(nodeId);
  const relay = { key: relayKeyOf(secretKey), port: config.relayPort, host: config.relayHost, addressOf };
  return { port, domain, tls: certificates.gateway ?? certificates.api, relay: leases.isShared ? relay : undefined };
}
