/** The size of the workers of a service's Postgres pipes. */
import { Store, upsertRow } from "../database/records.ts";

export type CdcScaling = { readonly replicaCpuMillicores: number; readonly replicaMemoryGb: number };

type Row = { readonly cpu_millicores: number; readonly memory_gb: number };

export class CdcScalingStore extends Store {
  /** Undefined: not set. */
  async find(serviceId: string): Promise<CdcScaling | undefined> {
    const row = await this.db.get<Row>("SELECT * FROM cdc_scaling WHERE service_id = ?", serviceId);
    return row && { replicaCpuMillicores: row.cpu_millicores, replicaMemoryGb: row.memory_gb };
  }

  /** Raises the generation of the service's pipes of these kinds of sources, so that their workers are replaced. */
  async set(serviceId: string, sourceKinds: readonly string[], wanted: CdcScaling): Promise<void> {
    const columns = { cpuMillicores: wanted.replicaCpuMillicores, memoryGb: wanted.replicaMemoryGb };
    await this.tellingOthers(async (tx) => {
      await upsertRow(tx, "cdc_scaling", { serviceId }, columns);
      for (const kind of sourceKinds) {
        await tx.run(
          "UPDATE pipes SET generation = generation + 1, updated_at = ? WHERE service_id = ? AND source_kind = ?",
          ...[new Date().toISOString(), serviceId, kind],
        );
      }
    });
  }
}
