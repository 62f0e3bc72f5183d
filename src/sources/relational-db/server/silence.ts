/** How long a source may say nothing. Beside `kind.ts`, so that a worker does not load the request's schema for it. */
import type { RelationalDbConfig } from "../kind.ts";

/** In ms. */
export function silenceMsOf(config: RelationalDbConfig): number {
  return config.silenceMs ?? 30_000;
}
