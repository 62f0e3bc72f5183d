/** Opens the gateway: its listener, the services by host name, and the relay between servers. */
import type { TlsSource } from "../../lib/certificate-files.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AccessEvent } from "../auth/events.ts";
import { forwardToHost } from "../forward/forward-to-host.ts";
import { UpstreamPool, Upstreams } from "../forward/upstream.ts";
import type { GatewayBackend } from "../gateway/backend.ts";
import { RestingClients } from "../native/resting-clients.ts";
import { relayConnector } from "../peers/channel.ts";
import { forwardToServer, requireRelay } from "../peers/forward-to-server.ts";
import { RelayListener, serviceHeader } from "../peers/listener.ts";
import type { TrustedProxies } from "../proxy-protocol/trusted-proxies.ts";
import { NameGateway } from "./name-gateway.ts";
import { type NamedService, NamedServices, type RequestTaker } from "./named-services.ts";
import { reachableHost } from "./reachable-host.ts";

export type HostNamesOptions = {
  readonly port: number;
  readonly domain: string;
  readonly tls?: TlsSource | undefined;
  /** Present where several servers share the metadata. */
  readonly relay?: RelayOptions | undefined;
};

export type RelayOptions = {
  /** The key of connections between servers. */
  readonly key: Buffer;
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** The name of this machine for the other servers; default: the address that the relay listens on. */
  readonly host?: string | undefined;
  /** The relay of another server, as `host:port`. */
  readonly addressOf: (nodeId: string) => string | undefined;
};

export type HostNamesContext = {
  readonly host: string;
  readonly proxies?: TrustedProxies | undefined;
  readonly backend: GatewayBackend;
  readonly logger: Logger;
  readonly onEvent: (serviceId: string, event: AccessEvent) => void;
  /** Reads the services again. */
  readonly refresh: () => Promise<void>;
};

export type HostNames = {
  /**
   * `toPipes` takes the requests to the addresses of push pipes. Resolves with the address of the relay for the other
   * servers, if there is one. Rejects when a port is taken.
   */
  listen(toPipes: RequestTaker): Promise<{ readonly relay: string | undefined }>;
  sync(services: readonly NamedService[]): void;
  close(): Promise<void>;
};

export function openHostNames({ port, domain, tls, relay }: HostNamesOptions, context: HostNamesContext): HostNames {
  const { host, proxies, backend, logger, onEvent, refresh } = context;
  const upstreams = new Upstreams();
  const toHost = (serviceId: string) => forwardToHost({ serviceId, backend, upstreams, handsOff: false });
  const relays = relay && new UpstreamPool((address: string) => relayConnector(address, relay.key));
  const toServer = ({ id }: NamedService, service: () => NamedService) =>
    relays &&
    forwardToServer({
      serviceId: id,
      address: () => relay?.addressOf(service().elsewhere ?? ""),
      upstreams: relays,
    });
  let taker: RequestTaker = () => {};
  const services = new NamedServices({
    domain,
    toPipes: (message, response) => taker(message, response),
    logger,
    refresh,
    onEvent,
    handlerOf: (first, service) => {
      const [here, there] = [toHost(first.id), toServer(first, service)];
      // The engine refuses by itself what belongs to a server that cannot be asked.
      return (...request) => (service().elsewhere === undefined ? here : (there ?? here))(...request);
    },
    nativeOf: ({ id }, service, logins, admission) => {
      const elsewhere = () => {
        const { elsewhere: node } = service();
        if (relay === undefined || node === undefined) return undefined;
        const connector = relayConnector(requireRelay(relay.addressOf(node)), relay.key);
        return { connector, header: `${serviceHeader}: ${id}` };
      };
      return new RestingClients({ serviceId: id, backend, logins, logger, admission, handsOver: false, elsewhere });
    },
  });
  const gateway = new NameGateway({
    onNative: (socket) => void services.serveNative(socket),
    tls,
    proxies,
    logger,
    onRequest: (message, response) => void services.serve(message, response),
  });
  const listener =
    relay &&
    new RelayListener({
      ...{ key: relay.key, logger, handlerOf: toHost },
      onNative: (...client) => void services.serveRelayed(...client),
    });
  return {
    listen: async (toPipes) => {
      taker = toPipes;
      const relayPort = await listener?.listen(host, relay?.port ?? 0);
      await gateway.listen(host, port);
      return { relay: relayPort === undefined ? undefined : reachableHost(relay?.host ?? host, relayPort) };
    },
    sync: (wanted) => services.sync(wanted),
    close: async () => {
      services.close();
      await Promise.all([gateway.close(), listener?.close()]);
      upstreams.close();
      relays?.close();
    },
  };
}
