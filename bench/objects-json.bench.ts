/** JSONEachRow files of a million rows. */
import { bulk } from "./objects-bulk.ts";

export const description = "rows/s of a pipe from JSON files against the engine's own INSERT SELECT (ratio >= 0.95)";

export const run = () => bulk("JSONEachRow", "json", 16, 1_000_000);
