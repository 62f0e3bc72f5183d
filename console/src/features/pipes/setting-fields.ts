/** The settings of a pipe in words. A setting that the API gets must be added here: the type demands it. */
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import type { PipeKind } from "./list-search.ts";
import type { PipeDetails } from "./use-pipe.ts";

export type SettingName = keyof PipeDetails["settings"];
type SettingField = { readonly label: string; readonly unit?: string; readonly isSwitch?: true };

export const settingFields: Readonly<Record<SettingName, SettingField>> = {
  streaming_max_insert_wait_ms: { label: "Longest wait before an insert", unit: "ms" },
  object_storage_concurrency: { label: "Batches that are inserted at the same time" },
  object_storage_polling_interval_ms: { label: "Pause between listings", unit: "ms" },
  object_storage_max_insert_bytes: { label: "Largest batch of objects", unit: "bytes" },
  object_storage_max_file_count: { label: "Most objects in a batch" },
  database_max_threads: { label: "Threads of the engine per insert" },
  database_max_insert_threads: { label: "Threads that write" },
  database_min_insert_block_size_bytes: { label: "Smallest block of an insert", unit: "bytes" },
  database_max_download_threads: { label: "Threads that download" },
  database_parallel_distributed_insert_select: { label: "Parallel distributed INSERT SELECT" },
  object_storage_use_cluster_function: { label: "Spread batches over replicas", isSwitch: true },
  database_insert_quorum: { label: "Wait until other replicas have a batch", isSwitch: true },
  database_parallel_view_processing: { label: "Fill materialized views at the same time", isSwitch: true },
  database_lenient_values: { label: "Load values that do not fit, changed", isSwitch: true },
};

/** Settings that mean something for a source of this kind. */
export function settingsOf(kind: PipeKind): readonly SettingName[] {
  const { settings } = sourceDescriptions[kind];
  const names = Object.keys(settingFields) as SettingName[];
  return names.filter((name) => settings.some((beginning) => name.startsWith(beginning)));
}
