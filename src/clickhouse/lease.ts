/** The lease of an engine: one type for all lenders and all ways to reach the engine. */
import type { ClickHouseAddress } from "./client.ts";

/** A running engine that stays in service until it is released. `Access` is how the holder reaches it. */
export type EngineLease<Access = { readonly address: ClickHouseAddress }> = Access & {
  /** To be called exactly once. Resolves when the engine has ended, where it runs for this lease only. */
  release(): void | Promise<void>;
};

/** Wakes the engine of a service if needed. Rejects with an AppError when it cannot run, and when the signal aborts. */
export type AcquireEngine<Access = { readonly address: ClickHouseAddress }> = (
  serviceId: string,
  signal: AbortSignal,
) => Promise<EngineLease<Access>>;
