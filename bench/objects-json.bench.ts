/** JSONEachRow files of a million rows. */
import { bulk } from "./objects-bulk.ts";

export const description =
  "rows/s of a pipe from JSON files against INSERT SELECT of an engine without the address policy";

export const run = () => bulk("JSONEachRow", "json", 16, 1_000_000);
