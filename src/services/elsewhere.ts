/** Services whose engine belongs to another process of the installation: of its data directory, or of its lease. */
import { AppError } from "../lib/errors.ts";
import type { Leases } from "../store/leases.ts";
import type { Service } from "../store/services.ts";

export type NodeFinder = {
  readonly leases: Pick<Leases, "isElsewhere" | "holderOf">;
  /** Where the process of a data directory can be reached. */
  readonly addressOf: (nodeId: string) => Promise<string | undefined>;
};

type Located = Pick<Service, "id" | "runtime" | "nodeId">;

/** Throws SERVICE_UNAVAILABLE for an engine of another process, with its address. */
export async function requireHere({ id, runtime, nodeId: home }: Located, nodes: NodeFinder): Promise<void> {
  const nodeId = runtime === "kubernetes" ? await nodes.leases.holderOf("service", id) : (home ?? undefined);
  if (nodeId === undefined || !nodes.leases.isElsewhere(nodeId)) return;
  const address = await nodes.addressOf(nodeId);
  const where = address === undefined ? "another server" : `the server ${address}`;
  throw new AppError("SERVICE_UNAVAILABLE", `The engine of this service belongs to ${where}: send the request there.`);
}
