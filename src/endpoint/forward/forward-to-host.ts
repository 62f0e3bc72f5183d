/**
 * Forwards a request from the gateway to the engine: takes a lease, which may wake the service, and finds its front.
 */
import { clickHouseException } from "../../clickhouse/exception.ts";
import { AppError } from "../../lib/errors.ts";
import type { AuthenticatedHandler } from "../auth/gatekeeper.ts";
import type { GatewayBackend, GatewayLease } from "../gateway/backend.ts";
import { forwardClientRequest } from "./forward-client-request.ts";
import { untilReached } from "./forward-upstream.ts";
import type { Upstreams } from "./upstream.ts";

export type HostForwardOptions = {
  readonly serviceId: string;
  readonly backend: GatewayBackend;
  readonly upstreams: Upstreams;
  /**
   * True when the listener's connections can be handed over: then this connection is closed, so that the next one is
   * handed over.
   */
  readonly handsOff: boolean;
};

/** An engine that died a moment ago may not be known to be dead yet: then the request waits for its successor. */
export function forwardToHost({ serviceId, backend, upstreams, handsOff }: HostForwardOptions): AuthenticatedHandler {
  return async (message, response, url, principal) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort(new Error("the client went away")));
    const attempt = async () => {
      const lease = await acquire(backend, serviceId, gone.signal);
      try {
        if (handsOff && backend.handoff(serviceId) !== undefined) response.setHeader("Connection", "close");
        const { port, key } = lease.forwardAddress;
        const target = { upstream: upstreams.to(port), principal, ownHeaders: { "x-millrace-key": key } };
        await forwardClientRequest(message, response, url, target);
      } catch (error) {
        throw (await backend.explained?.(serviceId, error)) ?? error;
      } finally {
        lease.release();
      }
    };
    await untilReached(attempt, gone.signal, () =>
      clickHouseException("NETWORK_ERROR", "The service's engine does not answer."),
    );
  };
}

async function acquire(backend: GatewayBackend, serviceId: string, signal: AbortSignal): Promise<GatewayLease> {
  try {
    return await backend.acquire(serviceId, signal);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw clickHouseException("NETWORK_ERROR", error.message, { cause: error });
  }
}
