/** What tables remember of the tokens of inserts, and what they have to. */
import { dedupWindow, dedupWindowSeconds, windowSettings } from "../clickhouse/table-form.ts";

/** Blocks and, for a replicated table, seconds; the engine's defaults where the table does not say. */
export type DedupWindow = { readonly blocks: number; readonly seconds: number | undefined };

type Statement = { readonly engine: string; readonly create_table_query: string };

/** From the table's statement. */
export function windowOf({ engine, create_table_query: statement }: Statement): DedupWindow {
  const number = (name: string) => new RegExp(`\\b${name} = (\\d+)`).exec(statement)?.[1];
  if (!isReplicated(engine)) {
    return { blocks: Number(number("non_replicated_deduplication_window") ?? 0), seconds: undefined };
  }
  return {
    blocks: Number(number("replicated_deduplication_window") ?? defaultBlocks),
    seconds: Number(number("replicated_deduplication_window_seconds") ?? defaultSeconds),
  };
}

/** The engine's own defaults for replicated tables. */
const defaultBlocks = 10_000;
const defaultSeconds = 3_600;

function isReplicated(engine: string): boolean {
  return /^(Replicated|Shared)/.test(engine);
}

/** The settings to be changed so that repeated inserts write once; undefined when the table needs none. */
export function missingWindow({
  engine,
  window,
}: {
  readonly engine: string;
  readonly window: DedupWindow;
}): string[] | undefined {
  if (!engine.endsWith("MergeTree")) return undefined;
  const isEnough = window.blocks >= dedupWindow && (window.seconds ?? dedupWindowSeconds) >= dedupWindowSeconds;
  return isEnough ? undefined : windowSettings({ isReplicated: isReplicated(engine) });
}
