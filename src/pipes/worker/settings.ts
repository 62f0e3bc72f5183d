/** The settings of a pipe: their defaults for the source, and their translation to engine settings. */
import { availableParallelism } from "node:os";

type Settings = Readonly<Record<string, number | boolean>>;
export type EngineSettings = Readonly<Record<string, string | number>>;

const defaults = {
  streaming_max_insert_wait_ms: 5_000,
  object_storage_polling_interval_ms: 30_000,
  object_storage_max_insert_bytes: 10 * 2 ** 30,
  object_storage_max_file_count: 1_000,
  object_storage_use_cluster_function: true,
};

export function sourceSettings(settings: Settings): Settings {
  return { ...defaults, ...settings };
}

/**
 * Number of concurrent inserts. Several insert threads within one statement would distribute rows over other blocks at
 * a retry, so `database_max_insert_threads` sets the number of concurrent statements instead.
 */
export function concurrencyOf(settings: Settings, scaling: Readonly<Record<string, number>>): number {
  const asked = [settings.object_storage_concurrency, scaling.concurrency || undefined].find((n) => n !== undefined);
  const fallback = Math.min(8, Math.max(2, availableParallelism()));
  return Math.max(Number(asked ?? fallback), Number(settings.database_max_insert_threads ?? 0));
}

/** Memory of one worker in GB, which determines the batch size of streams. */
export function memoryGbOf(scaling: Readonly<Record<string, number>>): number {
  return scaling.replicaMemoryGb ?? 1;
}

/** Engine settings of every insert of a pipe. Frozen in the intent: an edit never affects a batch that has begun. */
export function engineSettings(settings: Settings): EngineSettings {
  const blockBytes = settings.database_min_insert_block_size_bytes;
  return {
    async_insert: 0,
    insert_deduplicate: 1,
    deduplicate_blocks_in_dependent_materialized_views: 1,
    max_insert_threads: 1,
    max_partitions_per_insert_block: 0,
    // An additional limit of rows would cut blocks before the requested limit of bytes.
    min_insert_block_size_rows: blockBytes === undefined ? 1_048_449 : 0,
    min_insert_block_size_bytes: Number(blockBytes ?? 268_402_944),
    ...given("max_threads", settings.database_max_threads),
    ...given("max_download_threads", settings.database_max_download_threads),
    ...given("parallel_view_processing", settings.database_parallel_view_processing),
  };
}

function given(name: string, value: number | boolean | undefined): EngineSettings {
  return value === undefined ? {} : { [name]: Number(value) };
}
