/** What the gateway needs from the rest of the house: the services, and the way to a running engine. */
import type { DoorFacts } from "./auth/door.ts";
import type { HandOver } from "./handoff/sender.ts";
import type { FrontAddress } from "./proxy/upstream.ts";

export type GatewayService = DoorFacts & {
  readonly name: string;
  readonly host: string;
  /** 0 picks a free one; see `Gateway.portOf`. */
  readonly port: number;
};

export type EngineLease = {
  readonly front: FrontAddress;
  /** Must be called exactly once, when the query is over. */
  release(): void;
};

export type GatewayBackend = {
  /**
   * Resolves with the running engine's front, waking an idle service and waiting for it. Throws AppError:
   * SERVICE_UNAVAILABLE when stopped or failed, TIMEOUT. Every lease counts as activity until it is released.
   */
  acquire(serviceId: string, signal: AbortSignal): Promise<EngineLease>;
  /** Where connections of a running service go. Undefined while its engine does not run, or takes no connections. */
  handOver(serviceId: string): HandOver | undefined;
};
