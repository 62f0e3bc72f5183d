/** What most handlers are made of: their types, and the objects that a path names. */
import type { Handlers, ManagementOperations, ObservabilityOperations } from "../../api/operations.ts";
import { AppError, found } from "../../lib/errors.ts";
import type { Stores } from "../../store/open.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import type { Service } from "../../store/services/services.ts";
import type { Context } from "../caller/context.ts";

/** Handlers of these operations. */
export type Management<Names extends keyof ManagementOperations> = Pick<Handlers<ManagementOperations, Context>, Names>;
export type Observability<Names extends keyof ObservabilityOperations> = Pick<
  Handlers<ObservabilityOperations, Context>,
  Names
>;

/** The object, if there is one; throws NOT_FOUND in the words of the observability API. */
export function foundObject<T>(object: T | undefined, noun: string): T {
  if (object === undefined) throw new AppError("NOT_FOUND", `${noun} not found`);
  return object;
}

export type ServiceParams = { readonly organizationId: string; readonly serviceId: string };
export type PipeParams = ServiceParams & { readonly pipeId: string };

/** Throws NOT_FOUND, also for a service of another organization. */
export async function findService(
  { services }: { readonly services: Pick<Stores["services"], "findIn"> },
  { organizationId, serviceId }: ServiceParams,
): Promise<Service> {
  return found(await services.findIn(organizationId, serviceId), "Service", serviceId);
}

/** Throws NOT_FOUND, also for a pipe of another service. */
export async function findPipe(
  stores: Pick<Stores, "services" | "pipes">,
  { pipeId, ...params }: PipeParams,
): Promise<Pipe> {
  const { id } = await findService(stores, params);
  return found(await stores.pipes.findIn(id, pipeId), "Pipe", pipeId);
}
