/** What a pipe is configured with to read from a scripted source. */
import type { SourceServer } from "../../../src/sources/relational-db/declaration/kind.ts";
import type { TableMapping } from "../../../src/sources/relational-db/declaration/table-mapping.ts";
import { anyNetwork } from "../../network/network.ts";
import type { MemoryReplication } from "./replication.ts";

/** A source that says nothing for longer is given up; it is asked four times as often. */
export const memorySilenceMs = 100;

export function mappingOf(name: string, engine?: TableMapping["tableEngine"]): TableMapping {
  const mapping = { sourceSchemaName: "public", sourceTable: name, targetTable: name };
  return engine === undefined ? mapping : { ...mapping, tableEngine: engine };
}

export function memoryServer(server: MemoryReplication, tableMappings: TableMapping[]): SourceServer {
  const config: SourceServer["config"] = {
    host: "127.0.0.1",
    port: server.port,
    database: "d",
    disableTls: true,
    credentials: { username: "u", password: "p" },
    tableMappings: tableMappings as SourceServer["config"]["tableMappings"],
    settings: {
      allowNullableColumns: true,
      syncIntervalSeconds: 0.002,
      pullBatchSize: 6,
      initialLoadParallelism: 2,
      snapshotNumberOfParallelTables: 2,
      snapshotNumRowsPerPartition: 4,
    },
  };
  return { config, network: anyNetwork, idleTimeoutMs: memorySilenceMs };
}
