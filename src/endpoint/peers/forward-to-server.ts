/** Forwards requests for an embedded service from the gateway of this server to the server that has the engine. */
import { clickHouseException } from "../../clickhouse/exception.ts";
import type { AuthenticatedHandler } from "../auth/gatekeeper.ts";
import { forwardClientRequest } from "../forward/forward-client-request.ts";
import { NotReached } from "../forward/forward-upstream.ts";
import type { UpstreamPool } from "../forward/upstream.ts";
import { serviceHeader } from "./listener.ts";

export type ServerForwardOptions = {
  readonly serviceId: string;
  /** The relay of the server that has the engine, as `host:port`; undefined: none is known. */
  readonly address: () => string | undefined;
  readonly upstreams: Pick<UpstreamPool<string>, "to">;
};

/** Throws the exception for a client whose engine belongs to a server that is not known. */
export function requireRelay(address: string | undefined): string {
  if (address !== undefined) return address;
  const text = "The engine of this service belongs to a server that does not run, or has no gateway.";
  throw clickHouseException("NETWORK_ERROR", text);
}

/** A server that is being started again has another address: clients repeat what was refused. */
export function forwardToServer({ serviceId, address, upstreams }: ServerForwardOptions): AuthenticatedHandler {
  return async (message, response, url, principal) => {
    const to = requireRelay(address());
    const ownHeaders = { [serviceHeader]: serviceId };
    try {
      await forwardClientRequest(message, response, url, { upstream: upstreams.to(to), principal, ownHeaders });
    } catch (error) {
      if (!(error instanceof NotReached)) throw error;
      const text = `The engine of this service belongs to the server ${to}, which does not answer.`;
      throw clickHouseException("NETWORK_ERROR", text, { cause: error });
    }
  };
}
