/** What the gateway needs from other rooms: the services, and access to a running engine. */

import type { EngineLease } from "../../clickhouse/lease.ts";
import type { EndpointAccess } from "../auth/logins.ts";
import type { ForwardAddress } from "../forward/upstream.ts";
import type { HandoffSender } from "../handoff/sender.ts";

export type GatewayService = EndpointAccess & {
  readonly name: string;
  readonly host: string;
  /** 0 selects a free port; see `Gateway.portOf`. */
  readonly port: number;
  /** The port of the native protocol; undefined: the service has none. */
  readonly nativePort?: number | undefined;
};

export type GatewayLease = EngineLease<{ readonly forwardAddress: ForwardAddress }>;

export type GatewayBackend = {
  /**
   * Resolves with the front of the running engine; wakes an idle service and waits for it. Throws AppError:
   * SERVICE_UNAVAILABLE when stopped or failed, TIMEOUT. Every lease counts as activity until it is released.
   */
  acquire(serviceId: string, signal: AbortSignal): Promise<GatewayLease>;
  /** The error of a request whose engine went away, with the reason if it is known. */
  explained?(serviceId: string, error: unknown): Promise<unknown>;
  /**
   * The receiver of a running service's connections. Undefined while its engine does not run or accepts no connections.
   */
  handoff(serviceId: string): HandoffSender | undefined;
};
