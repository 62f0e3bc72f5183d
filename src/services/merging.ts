/** Background work of an engine. */
import { ClickHouseClient } from "../clickhouse/client.ts";
import type { RunningEngine } from "./runtime.ts";

/** True while merges are in progress, which stopping the engine would discard. */
export async function isMerging(engine: RunningEngine): Promise<boolean> {
  using client = new ClickHouseClient(engine.address);
  return (await client.text("SELECT count() FROM system.merges FORMAT TSV")).trim() !== "0";
}
