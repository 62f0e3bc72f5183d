/**
 * What a configuration leaves open. Not in `../declaration/kind.ts`, so that a worker does not load the request's
 * schema for it.
 */
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";

/** How long a source may say nothing, in ms. */
export function idleTimeoutMsOf({ idleTimeoutMs = 30_000 }: SourceServer): number {
  return idleTimeoutMs;
}

export function portOf(config: RelationalDbConfig): number {
  return config.port ?? 5432;
}
