/** The addresses of an external service's server. */
import type { ClickHouseAddress } from "../../clickhouse/client.ts";
import { bracketed } from "../../lib/host-list.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import { serverAgent } from "../../outgoing/http.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import { type ServiceConnection, serverOf } from "../../store/services/service-connections.ts";

export type ExternalAddress = ClickHouseAddress & { readonly openAgent: NonNullable<ClickHouseAddress["openAgent"]> };

/** One address per URL, in order. Their connections follow the policy. */
export function addressesOf(
  { urls, username, cluster, database, tls }: ServiceConnection,
  password: string,
  policy: OutgoingPolicy,
): ExternalAddress[] {
  return urls.map((text) => {
    const { protocol, host, port } = serverOf(text);
    const ca = tls?.caCertificate;
    const secure = protocol === "https" ? { tls: ca === undefined ? {} : { ca } } : {};
    return {
      host,
      port,
      user: username,
      password,
      ...(database === undefined ? {} : { database }),
      ...(cluster === undefined ? {} : { cluster }),
      ...secure,
      isExternal: true,
      openAgent: () => serverAgent(new Dialer(policy, "connection.urls"), secure.tls),
    };
  });
}

/** One of the addresses, with the others that are asked when it does not answer: those of the same scheme. */
export function withOthers<A extends ClickHouseAddress>(first: A, all: readonly A[]): A {
  const isOther = (address: A) =>
    (address.host !== first.host || address.port !== first.port) &&
    (address.tls === undefined) === (first.tls === undefined);
  const others = all.filter(isOther).map(({ host, port }) => ({ host, port }));
  return others.length === 0 ? first : { ...first, others };
}

/** The same for a user who may only read. */
export function readerOf(address: ExternalAddress): ExternalAddress {
  return { ...address, settings: { readonly: 2 } };
}

/** The URL for messages. */
export function urlOf({ host, port, tls }: ClickHouseAddress): string {
  return `${tls === undefined ? "http" : "https"}://${bracketed(host)}:${port}`;
}
