/**
 * Decides which shards may be read now. A shard is begun when every parent that the stream still lists is finished: all
 * of its records are durable, whichever replica reads it. Marks in the ledger record this, written in the same
 * transaction as the position of the parent's last batch.
 */
import type { ShardFacts } from "../stream.ts";
import type { ShardStart } from "./start.ts";

export const finished = "finished" as const;

/** The mark that records that a shard's last batch is durable. */
export function finishedMark(shard: string): `shard:${string}` {
  return `shard:${shard}`;
}

export type MarkLookup = (keys: readonly `shard:${string}`[]) => Promise<ReadonlyMap<string, unknown>>;

export class ShardLineage {
  readonly #marks: MarkLookup;
  readonly #start: ShardStart;
  /** Finished shards never begin again, so they are looked up once. */
  readonly #finished = new Set<string>();

  constructor(marks: MarkLookup, start: ShardStart) {
    this.#marks = marks;
    this.#start = start;
  }

  /** Looks up which of the shards have finished; true when there are any: their children may be readable now. */
  async learn(listed: readonly ShardFacts[]): Promise<boolean> {
    const open = listed.map((shard) => shard.id).filter((id) => !this.isFinished(id));
    const marks = await this.#marks(open.map(finishedMark));
    const news = open.filter((id) => marks.has(finishedMark(id)));
    for (const id of news) this.#finished.add(id);
    return news.length > 0;
  }

  /** The listed shards that may be read and are not finished. */
  readable(listed: readonly ShardFacts[]): ShardFacts[] {
    const ids = new Set(listed.map((shard) => shard.id));
    const done = (id: string) => this.isFinished(id) || !ids.has(id);
    return listed.filter((shard) => !this.isFinished(shard.id) && shard.parents.every(done));
  }

  isFinished(shard: string): boolean {
    return this.#finished.has(shard) || this.#start.isBefore(shard);
  }
}

/** A listed shard that is among its own ancestors, and so would never be begun; undefined: none. */
export function circleOf(listed: readonly ShardFacts[]): string | undefined {
  const waiting = new Map(listed.map(({ id, parents }) => [id, new Set(parents)]));
  const children = new Map<string, string[]>();
  for (const [id, parents] of waiting) {
    for (const parent of parents) {
      if (!waiting.has(parent)) parents.delete(parent);
      else if (!children.get(parent)?.push(id)) children.set(parent, [id]);
    }
  }
  const free = [...waiting.keys()].filter((id) => waiting.get(id)?.size === 0);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    waiting.delete(id);
    for (const child of children.get(id) ?? []) {
      const parents = waiting.get(child);
      if (parents?.delete(id) === true && parents.size === 0) free.push(child);
    }
  }
  return waiting.keys().next().value;
}
