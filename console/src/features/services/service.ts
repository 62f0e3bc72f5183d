/** A service, and what follows from its state. */
import type { OperationResult } from "../../api/client.ts";
import type { Pace } from "../../api/refresh.ts";

export type Service = OperationResult<"getService">;

const changing = ["provisioning", "starting", "stopping", "awaking", "terminating"];

/** True while the state is about to change by itself. */
export function isChanging(service: Service): boolean {
  return changing.includes(service.state);
}

/** Faster while a service changes its state. */
export function paceOf(service: Service | undefined): Pace {
  return service !== undefined && isChanging(service) ? "fast" : "live";
}

/** How many of its pipes run. */
export function pipesText({ running, total }: Service["pipes"]): string {
  return total === 0 ? "0" : `${running} of ${total}`;
}

export type ServiceCommand = "start" | "stop" | "awake";

/** Why a command does nothing in this state; undefined if it does. */
export function commandRefusal(command: ServiceCommand, { state }: Service): string | undefined {
  if (command === "stop") {
    return ["stopped", "stopping", "terminating"].includes(state) ? `The service is ${state}.` : undefined;
  }
  if (command === "awake") return state === "idle" ? undefined : "Only a service that is asleep can be woken.";
  return ["stopped", "failed"].includes(state) ? undefined : `The service is ${state}.`;
}

/** Why a service cannot be deleted in this state. */
export function deleteRefusal({ state }: Service): string | undefined {
  return ["running", "stopping", "terminating"].includes(state) ? "Stop the service first." : undefined;
}

/** Why a service cannot be moved to a server. */
export function moveRefusal({ runtime }: Service): string | undefined {
  return runtime === "external" ? "The service is on a server of its own already." : undefined;
}

/** `http://127.0.0.1:21000`; undefined before the endpoint is open. */
export function endpointUrl({ endpoints: [endpoint] }: Service): string | undefined {
  if (endpoint === undefined) return undefined;
  const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.protocol}://${host}:${endpoint.port}`;
}
