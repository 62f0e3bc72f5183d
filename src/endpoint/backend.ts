/** What the gateway needs from other rooms: the services, and access to a running engine. */
import type { DoorFacts } from "./auth/door.ts";
import type { HandOver } from "./handoff/sender.ts";
import type { FrontAddress } from "./proxy/upstream.ts";

export type GatewayService = DoorFacts & {
  readonly name: string;
  readonly host: string;
  /** 0 selects a free port; see `Gateway.portOf`. */
  readonly port: number;
};

export type EngineLease = {
  readonly front: FrontAddress;
  /** Must be called exactly once, when the query ends. */
  release(): void;
};

export type GatewayBackend = {
  /**
   * Resolves with the front of the running engine; wakes an idle service and waits for it. Throws AppError:
   * SERVICE_UNAVAILABLE when stopped or failed, TIMEOUT. Every lease counts as activity until it is released.
   */
  acquire(serviceId: string, signal: AbortSignal): Promise<EngineLease>;
  /**
   * The receiver of a running service's connections. Undefined while its engine does not run or accepts no connections.
   */
  handOver(serviceId: string): HandOver | undefined;
};
