/** Carries a request from the gateway to the engine: a lease, which may wake the service, and the way to its front. */
import { clickHouseException } from "../../clickhouse/exception.ts";
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Carry } from "../auth/door.ts";
import type { EngineLease, GatewayBackend } from "../backend.ts";
import { NotReached } from "./forward.ts";
import { forward } from "./proxy.ts";
import type { Upstreams } from "./upstream.ts";

/** How often, and how far apart, an engine that does not take connections is tried: two seconds in all. */
const maxAttempts = 20;
const attemptPauseMs = 100;

export type CarryOptions = {
  readonly serviceId: string;
  readonly backend: GatewayBackend;
  readonly upstreams: Upstreams;
  /** Whether the listener's connections can be handed over: then this one ends, so that the next one is. */
  readonly handsOver: boolean;
};

/** An engine that died a moment ago may not be known to be dead yet: then its successor is waited for. */
export function carryToFront({ serviceId, backend, upstreams, handsOver }: CarryOptions): Carry {
  return async (message, response, url, visitor) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort(new Error("the client went away")));
    for (let attempt = 1; ; attempt += 1) {
      const lease = await acquire(backend, serviceId, gone.signal);
      try {
        if (handsOver && backend.handOver(serviceId) !== undefined) response.setHeader("Connection", "close");
        const { port, key } = lease.front;
        return await forward(message, response, url, { upstream: upstreams.to(port), key, ...visitor });
      } catch (error) {
        if (!(error instanceof NotReached)) throw error;
        if (attempt >= maxAttempts) throw clickHouseException("NETWORK_ERROR", "The service's engine does not answer.");
      } finally {
        lease.release();
      }
      await sleep(attemptPauseMs, gone.signal);
    }
  };
}

async function acquire(backend: GatewayBackend, serviceId: string, signal: AbortSignal): Promise<EngineLease> {
  try {
    return await backend.acquire(serviceId, signal);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw clickHouseException("NETWORK_ERROR", error.message, { cause: error });
  }
}
