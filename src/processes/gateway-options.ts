/** What the settings say about the gateway. */
import { readFileSync } from "node:fs";
import type { Config } from "../config.ts";
import type { HostNamesOptions } from "../endpoint/names/open.ts";
import { relayKeyOf } from "../endpoint/relay/channel.ts";
import { parseNetworks } from "../outgoing/addresses.ts";
import type { LeasedStores } from "../store/open.ts";

/** Undefined: there is no gateway. `tls` is the certificate of the API. Throws when a file cannot be read. */
export function gatewayOptions(
  config: Config,
  { leases, secretKey }: Pick<LeasedStores, "leases" | "secretKey">,
  tls: HostNamesOptions["tls"],
): HostNamesOptions | undefined {
  const { gatewayPort: port, gatewayDomain: domain, gatewayTlsCert, gatewayTlsKey } = config;
  if (port === undefined || domain === undefined) return undefined;
  const own =
    gatewayTlsCert === undefined
      ? tls
      : { cert: readFileSync(gatewayTlsCert), key: readFileSync(gatewayTlsKey as string) };
  const addressOf = (nodeId: string) => leases.relayOf(nodeId);
  const relay = { key: relayKeyOf(secretKey), port: config.relayPort, host: config.relayHost, addressOf };
  return { port, domain, tls: own, relay: leases.isShared ? relay : undefined };
}

/** Undefined: connections begin with no PROXY header. */
export function proxyNetworksOf({ gatewayProxyNetworks }: Config): readonly string[] | undefined {
  return gatewayProxyNetworks === undefined ? undefined : parseNetworks(gatewayProxyNetworks);
}
