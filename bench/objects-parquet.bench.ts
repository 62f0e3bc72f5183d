/** Parquet files of 2 million rows. */
import { bulk } from "./objects-bulk.ts";

export const description =
  "rows/s of a pipe from Parquet files against INSERT SELECT of an engine without the address policy";

export const run = () => bulk("Parquet", "parquet", 10, 2_000_000);
