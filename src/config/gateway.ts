/** Settings of the gateway, which has the endpoints of all services on one port and chooses by host name. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { type PortRange, parsePorts } from "../lib/port-range.ts";
import { parseNetworks } from "../outgoing/addresses.ts";
import { parsingProblem, refusing } from "./problem.ts";

const port = numberText(z.int().min(1).max(65_535));
const file = z.string().min(1).optional();

/** Names of 36 characters and a dot precede it. */
const domain = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,200}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, {
    error: "must be a domain name, as in ch.example.com",
  })
  // Otherwise `1.2.3.4` would be one.
  .refine((name) => !/(^|\.)\d+$/.test(name), { error: "must be a domain name, as in ch.example.com" });

export const gatewaySettings = {
  nativePorts: z
    .string()
    .superRefine(refusing((text) => parsingProblem(() => parsePorts(text))))
    .optional()
    .describe(
      "Port range for the native protocol of services, which clients such as clickhouse-client and clickhouse-go use; default: 22000-22999, and `none` where --service-ports is `none`. See docs/gateway.md",
    ),
  gatewayPort: port
    .optional()
    .describe(
      "Port of the gateway, where every service has an endpoint by its host name, which begins with its id; default: services have endpoints on ports of their own only. See docs/gateway.md",
    ),
  gatewayDomain: domain
    .optional()
    .describe("Domain of the host names of services; its names (*.ch.example.com in the DNS) must lead to the gateway"),
  gatewayPublicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "URL of --gateway-domain as clients see it, for use behind a load balancer or proxy, as in https://ch.example.com; service endpoints show its scheme and port; default: those of the gateway itself",
    ),
  gatewayTlsCert: file.describe(
    "PEM certificate file of the gateway for all names below --gateway-domain; together with --gateway-tls-key it enables https there. Both files are read again when they change; default: --tls-cert",
  ),
  gatewayTlsKey: file.describe("PEM private key file of the gateway's certificate"),
  gatewayProxyNetworks: z
    .string()
    .superRefine(refusing((text) => parsingProblem(() => parseNetworks(text))))
    .optional()
    .describe(
      "Load balancers and proxies that send the address of the client in a PROXY header (version 1 or 2) to the ports of services and to --gateway-port: a comma-separated list of networks (10.0.0.0/8) and addresses. Connections from them must begin with the header; headers from other addresses are not believed; default: none",
    ),
  relayPort: port
    .optional()
    .describe(
      "Port where the gateways of the other servers of an installation pass on requests for the embedded services of this one, encrypted with a key derived from --secret-key; default: a free port",
    ),
  relayHost: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Host name or address of this machine at which the other servers reach --relay-port; default: --host, or the first address of the machine if --host stands for all of them",
    ),
};

type Given = {
  readonly [Name in keyof Omit<typeof gatewaySettings, "nativePorts"> | "port" | "cloudPort" | "otlpPort"]?: unknown;
} & {
  readonly servicePorts: string;
  readonly nativePorts?: string | undefined;
};

/** The ports of the native protocol; undefined: services have none. */
export function nativeRange(given: {
  readonly nativePorts?: string | undefined;
  readonly servicePorts: string;
}): PortRange | undefined {
  return parsePorts(given.nativePorts ?? (given.servicePorts === "none" ? "none" : "22000-22999"));
}

/** What is wrong with the settings together; undefined: nothing. */
export function gatewayProblem(given: Given): string | undefined {
  if ((given.gatewayPort === undefined) !== (given.gatewayDomain === undefined)) {
    return "gatewayPort and gatewayDomain must be set together";
  }
  if ((given.gatewayTlsCert === undefined) !== (given.gatewayTlsKey === undefined)) {
    return "gatewayTlsCert and gatewayTlsKey must be set together";
  }
  if (given.servicePorts === "none" && nativeRange(given) !== undefined) return "nativePorts requires servicePorts";
  if (given.servicePorts === "none" && given.gatewayPort === undefined) return "servicePorts none requires gatewayPort";
  const other = ["gatewayPublicUrl", "gatewayTlsCert", "relayPort", "relayHost"] as const;
  const unused = other.find((name) => given[name] !== undefined);
  if (given.gatewayPort === undefined && unused !== undefined) return `${unused} requires gatewayPort`;
  const { gatewayPublicUrl: url } = given;
  if (typeof url === "string" && new URL(url).hostname !== given.gatewayDomain) {
    return "gatewayPublicUrl must have the host name of gatewayDomain";
  }
  const ports = ["port", "cloudPort", "otlpPort", "relayPort"] as const;
  const same = ports.find((name) => given.gatewayPort !== undefined && given[name] === given.gatewayPort);
  return same === undefined ? undefined : `gatewayPort must differ from ${same}`;
}
