/** Questions to running engines as the internal user: they wake no service and are not an activity. */
import { ClickHouseClient, type QueryOptions } from "../../clickhouse/client.ts";
import type { ServiceAccess } from "../access.ts";
import type { RunningEngine } from "../runtime.ts";

export type EngineQuestion<T> = (client: ClickHouseClient, options: QueryOptions) => Promise<T>;

/** Rejects when the engine does not answer in time. */
export async function askEngine<T>(
  { address }: Pick<RunningEngine, "address">,
  limitMs: number,
  question: EngineQuestion<T>,
): Promise<T> {
  using client = new ClickHouseClient(address);
  return await question(client, { settings: { log_queries: 0 }, signal: AbortSignal.timeout(limitMs) });
}

/** Undefined when the service does not run. Its engine is not stopped before it has answered. */
export async function askRunning<T>(
  access: Pick<ServiceAccess, "acquireRunning">,
  serviceId: string,
  limitMs: number,
  question: EngineQuestion<T>,
): Promise<T | undefined> {
  const lease = access.acquireRunning(serviceId);
  if (lease === undefined) return undefined;
  try {
    return await askEngine(lease, limitMs, question);
  } finally {
    lease.release();
  }
}
