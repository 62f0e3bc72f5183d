/** Parquet files of 2 million rows. */
import { bulk } from "./objects-bulk.ts";

export const description = "rows/s of a pipe from Parquet files against the engine's own INSERT SELECT (ratio >= 0.95)";

export const run = () => bulk("Parquet", "parquet", 10, 2_000_000);
