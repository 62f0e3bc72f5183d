import { randomUUID } from "node:crypto";
import { openStoresOf } from "../src/store/open.ts";

/** Stopped services with stopped pipes, in the store of a server that does not run: nothing runs beside the lists. */
export async function seedPipes(
  dataDir: string,
  organizationId: string,
  { services, pipes }: { readonly services: number; readonly pipes: number },
): Promise<void> {
  const stores = await openStoresOf({ dataDir, secretKey: undefined });
  const now = new Date().toISOString();
  await stores.db.transaction(async (tx) => {
    for (let s = 0; s < services; s += 1) {
      const service = randomUUID();
      await tx.run(
        `INSERT INTO services (id, organization_id, name, provider, region, port, min_replica_memory_gb,
           max_replica_memory_gb, num_replicas, idle_scaling, idle_timeout_minutes, ip_access_list, tags, desired_state,
           state, created_at, updated_at)
         VALUES (?, ?, ?, 'local', 'local', ?, 1, 1, 1, 1, 15, '[]', '[]', 'stopped', 'stopped', ?, ?)`,
        ...[service, organizationId, `service ${s}`, 28_000 + s, now, now],
      );
      for (let p = 0; p < pipes / services; p += 1) {
        const pipe = randomUUID();
        await tx.run(
          `INSERT INTO pipes (id, service_id, name, source_kind, source, destination, field_mappings, scaling, settings,
             desired_state, generation, observed_generation, state, created_at, updated_at)
           VALUES (?, ?, ?, 'objectStorage', '{"objectStorage":{}}', '{"table":"t"}', '[]', '{}', '{}', 'stopped', 1, 1,
             'Stopped', ?, ?)`,
          ...[pipe, service, `pipe ${s} ${p}`, now, now],
        );
        for (const name of ["sentRows", "sentBytes", "fetchedRows", "fetchedBytes"]) {
          await tx.run("INSERT INTO pipe_counters (pipe_id, name, value) VALUES (?, ?, ?)", pipe, name, p * 1_000);
        }
      }
    }
  });
  stores.close();
}
