/** Services whose engine belongs to another process of the installation. */
import { AppError } from "../lib/errors.ts";
import type { Leases } from "../store/nodes/leases.ts";
import type { Service } from "../store/services/services.ts";

export type NodeFinder = {
  readonly leases: Pick<Leases, "isElsewhere">;
  /** Where the process of a data directory can be reached. */
  readonly addressOf: (nodeId: string) => Promise<string | undefined>;
};

/** Throws SERVICE_UNAVAILABLE for an engine in the data directory of another process, with its address. */
export async function requireHere({ nodeId }: Pick<Service, "nodeId">, nodes: NodeFinder): Promise<void> {
  if (nodeId === null || !nodes.leases.isElsewhere(nodeId)) return;
  const address = await nodes.addressOf(nodeId);
  const where = address === undefined ? "another server" : `the server ${address}`;
  throw new AppError("SERVICE_UNAVAILABLE", `The engine of this service belongs to ${where}: send the request there.`);
}
