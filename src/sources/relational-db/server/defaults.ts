/** What a configuration leaves open. Not in `../kind.ts`, so that a worker does not load the request's schema for it. */
import type { RelationalDbConfig } from "../kind.ts";

/** How long a source may say nothing, in ms. */
export function silenceMsOf(config: RelationalDbConfig): number {
  return config.silenceMs ?? 30_000;
}

export function portOf(config: RelationalDbConfig): number {
  return config.port ?? 5432;
}
