/** Where the endpoints of services are, according to the settings. */

import { nativeRange } from "../../config/gateway.ts";
import type { Config } from "../../config.ts";
import type { EndpointFacts, NamedEndpoints } from "./services.ts";

/** How clients reach this machine, perhaps through a proxy. `hasTls`: the API and the ports of services have TLS. */
export function publicEndpoint(config: Config, hasTls: boolean): EndpointFacts {
  const url = config.publicUrl === undefined ? undefined : new URL(config.publicUrl);
  const own = hasTls ? "https" : "http";
  return {
    protocol: url === undefined ? own : schemeOf(url),
    host: config.publicHost ?? url?.hostname.replace(/^\[|\]$/g, "") ?? config.host,
    gateway: gatewayOf(config, hasTls),
    hasPorts: config.servicePorts !== "none",
    hasNative: nativeRange(config) !== undefined,
  };
}

/** The port of an embedded service is at the host of its server. No address: not known to be another one than this. */
export function atNode(endpoint: EndpointFacts, address: string | undefined): EndpointFacts {
  if (address === undefined) return endpoint;
  const url = new URL(address);
  return { ...endpoint, protocol: schemeOf(url), host: url.hostname.replace(/^\[|\]$/g, "") };
}

function gatewayOf(config: Config, hasTls: boolean): NamedEndpoints | undefined {
  const { gatewayPort: port, gatewayDomain: domain, gatewayPublicUrl, gatewayTlsCert } = config;
  if (port === undefined || domain === undefined) return undefined;
  const hasNative = hasTls || gatewayTlsCert !== undefined;
  if (gatewayPublicUrl === undefined) return { protocol: hasNative ? "https" : "http", domain, port, hasNative };
  const url = new URL(gatewayPublicUrl);
  const protocol = schemeOf(url);
  const shown = url.port === "" ? (protocol === "https" ? 443 : 80) : Number(url.port);
  return { protocol, domain, port: shown, hasNative };
}

function schemeOf({ protocol }: URL): "http" | "https" {
  return protocol === "https:" ? "https" : "http";
}
