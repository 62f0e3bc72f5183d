/**
 * Where a pipe begins in its stream. It is decided once and saved in a mark before the first record is read: a crash
 * before the first batch must neither skip nor add records. Shards that appear later begin at their first record.
 */
import { sleep } from "../../../lib/abort.ts";
import type { SourceContext } from "../../contract/source.ts";
import type { FrozenStart, KinesisDurable } from "../declaration/durable.ts";
import type { ManagedStreamConfig } from "../declaration/kind.ts";
import type { ShardFacts, StartAt, StreamApi } from "../stream.ts";
import { withThrottleRetries } from "./polling.ts";

const startMark = "start";
const lookEveryMs = 200;

export class ShardStart {
  readonly #frozen: FrozenStart;
  readonly #known: ReadonlySet<string>;
  readonly #closed: ReadonlySet<string>;
  /** Shards that may still be opened at LATEST: only in the process that has just saved the start. */
  readonly #fresh: Set<string>;

  constructor(frozen: FrozenStart, fresh: boolean) {
    this.#frozen = frozen;
    this.#known = new Set(frozen.known);
    this.#closed = new Set(frozen.closed);
    this.#fresh = new Set(fresh && frozen.type === "LATEST" ? frozen.known : []);
  }

  /** True for shards that the pipe does not read at all. */
  isBefore(shard: string): boolean {
    return this.#closed.has(shard);
  }

  /** Where a shard without a position begins. */
  of(shard: string): StartAt {
    if (this.#frozen.type === "TRIM_HORIZON" || !this.#known.has(shard)) return { from: "horizon" };
    if (this.#fresh.delete(shard)) return { from: "latest" };
    return { from: "time", ms: this.#frozen.ms };
  }
}

export function startType({ iteratorType, timestamp }: ManagedStreamConfig): FrozenStart["type"] {
  return iteratorType ?? (timestamp === undefined ? "TRIM_HORIZON" : "AT_TIMESTAMP");
}

/** The saved start. The first replica saves it; the others wait for it. */
export async function frozenStart(
  config: ManagedStreamConfig,
  context: Pick<SourceContext<KinesisDurable>, "ledger" | "replica">,
  api: StreamApi,
  signal: AbortSignal,
): Promise<ShardStart | undefined> {
  while (!signal.aborted) {
    const saved = (await context.ledger.marks([startMark])).get(startMark);
    if (saved !== undefined) return new ShardStart(saved, false);
    if (context.replica.index === 0) break;
    await sleep(lookEveryMs, signal);
  }
  const listed = await withThrottleRetries(() => api.shards(signal), signal);
  if (listed === undefined) return undefined;
  const frozen = freeze(config, listed.shards, listed.serverMs);
  await context.ledger.note({ [startMark]: frozen }, {});
  return new ShardStart(frozen, true);
}

function freeze(config: ManagedStreamConfig, shards: readonly ShardFacts[], nowMs: number): FrozenStart {
  const type = startType(config);
  if (type === "TRIM_HORIZON") return { type, ms: 0, known: [], closed: [] };
  const ids = (list: readonly ShardFacts[]) => list.map((shard) => shard.id);
  const ms = type === "AT_TIMESTAMP" ? Number(config.timestamp) * 1000 : nowMs;
  const closed = type === "LATEST" ? shards.filter((shard) => shard.closed) : [];
  return { type, ms, known: ids(shards), closed: ids(closed) };
}
