/** The addresses of an external service's server. */
import type { ClickHouseAddress } from "../../clickhouse/client.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { serverAgent } from "../../outgoing/http.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { ServiceConnection } from "../../store/service-connections.ts";

/** Default ports of the ClickHouse HTTP interface. */
const defaultPorts: Readonly<Record<string, number>> = { "http:": 8123, "https:": 8443 };

export type ExternalAddress = ClickHouseAddress & { readonly openAgent: NonNullable<ClickHouseAddress["openAgent"]> };

/** One address per URL, in order. Their connections follow the policy. */
export function addressesOf(
  { urls, username, database, tls }: ServiceConnection,
  password: string,
  policy: OutgoingPolicy,
): ExternalAddress[] {
  return urls.map((text) => {
    const { protocol, hostname, port } = new URL(text);
    const ca = tls?.caCertificate;
    const secure = protocol === "https:" ? { tls: ca === undefined ? {} : { ca } } : {};
    return {
      host: hostname.replaceAll(/[[\]]/g, ""),
      port: port === "" ? portOf(text, protocol) : Number(port),
      user: username,
      password,
      ...(database === undefined ? {} : { database }),
      ...secure,
      isExternal: true,
      openAgent: () => serverAgent(new Dialer(policy, "connection.urls"), secure.tls),
    };
  });
}

/** `URL` removes a port that is the scheme's own, such as 80. */
function portOf(text: string, protocol: string): number {
  const written = /^https?:\/\/(?:\[[^\]]*\]|[^/:]*):(\d+)/i.exec(text)?.[1];
  return written === undefined ? (defaultPorts[protocol] as number) : Number(written);
}

/** The same for a user who may only read. */
export function readerOf(address: ExternalAddress): ExternalAddress {
  return { ...address, settings: { readonly: 2 } };
}

/** The URL for messages. */
export function urlOf({ host, port, tls }: ClickHouseAddress): string {
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
