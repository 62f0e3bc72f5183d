/**
 * Engine settings of a load. Measured: an insert is only repeatable under its token when one thread puts the rows in
 * order (parsing may be parallel, in order) or when everything is one block. Several threads lost and doubled rows after
 * an interrupted first attempt, so the thread settings of a pipe bound parsing and downloading, never the order.
 */
export type InsertValues = Readonly<Record<string, string | number>>;

/** Objects up to this many bytes together are loaded as one block: all of them or none. */
export const groupBytes = 8 * 2 ** 20;

const oneBlock = { min_insert_block_size_rows: 0, min_insert_block_size_bytes: 4 * 2 ** 30 };

/** Malformed rows of text formats are left out. Everything else about the insert stays the same, the cuts included. */
export const tolerance: InsertValues = {
  input_format_allow_errors_num: 4_000_000_000,
  input_format_allow_errors_ratio: 1,
};

export function loadSettings(
  pipe: Readonly<Record<string, number | boolean>>,
  options: { readonly grouped: boolean; readonly delimiter: string | undefined },
): InsertValues {
  const threads = Number(pipe.database_max_threads ?? 0) || 4;
  const blockBytes = Number(pipe.database_min_insert_block_size_bytes ?? 0);
  return {
    max_threads: 1,
    max_insert_threads: 1,
    max_parsing_threads: threads,
    input_format_parquet_preserve_order: 1,
    max_download_threads: Number(pipe.database_max_download_threads ?? 4),
    parallel_distributed_insert_select: Number(pipe.database_parallel_distributed_insert_select ?? 2),
    parallel_view_processing: Number(pipe.database_parallel_view_processing ?? false),
    throw_on_max_partitions_per_insert_block: 0,
    // A dead store is our own retry's business; the engine's would hold the insert for minutes.
    s3_retry_attempts: 3,
    s3_max_single_read_retries: 3,
    s3_request_timeout_ms: 30_000,
    // The statement of a group names each of its objects.
    max_query_size: 32 * 2 ** 20,
    glob_expansion_max_elements: 10_000,
    date_time_input_format: "best_effort",
    input_format_avro_allow_missing_fields: 1,
    ...(options.delimiter === undefined ? {} : { format_csv_delimiter: options.delimiter }),
    ...(blockBytes > 0 ? { min_insert_block_size_bytes: blockBytes } : {}),
    ...(options.grouped ? oneBlock : {}),
  };
}
