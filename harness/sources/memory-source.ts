/** A source in memory with lanes like partitions: the smallest implementation of the contract, and an example of it. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../src/sources/contract/durable.ts";
import type { InsertFailure, Source, Batch as SourceBatch } from "../../src/sources/contract/source.ts";

const range = z.object({ lane: z.string(), from: z.int(), to: z.int(), skip: z.optional(z.array(z.int())) });

/** What the source keeps in the ledger. */
export const durable = { replay: range, checkpoint: z.int(), marks: {} };

type Range = Stored<typeof range>;
type Batch = SourceBatch<DurableOf<typeof durable>>;

export class MemorySource implements Source<DurableOf<typeof durable>> {
  readonly #lanes: ReadonlyMap<string, readonly string[]>;
  readonly #batchRows: number;

  constructor(lanes: ReadonlyMap<string, readonly string[]>, batchRows: number) {
    this.#lanes = lanes;
    this.#batchRows = batchRows;
  }

  async *read(checkpoints: ReadonlyMap<string, number>): AsyncIterable<Batch> {
    const next = new Map([...this.#lanes.keys()].map((lane) => [lane, checkpoints.get(lane) ?? 0]));
    for (let more = true; more; ) {
      more = false;
      for (const [lane, rows] of this.#lanes) {
        const from = next.get(lane) as number;
        if (from >= rows.length) continue;
        const to = Math.min(rows.length, from + this.#batchRows);
        next.set(lane, to);
        more = true;
        yield this.#batch({ lane, from, to });
      }
    }
  }

  async replay(replay: Range): Promise<Batch> {
    return this.#batch(replay);
  }

  /** A bad row is skipped and recorded; the rows around it stay in place. */
  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const range = batch.replay;
    const rows = this.#lanes.get(range.lane) as readonly string[];
    const skip = rows.map((_, at) => at).filter((at) => at >= range.from && at < range.to && rows[at] === "bad");
    if (skip.length === 0) return [];
    const rejected = skip.map((at) => ({ origin: range.lane, position: String(at), message: failure.message }));
    return [{ ...this.#batch({ ...range, skip }), rejected }];
  }

  async acknowledge(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  #batch(range: Range): Batch {
    const { lane, from, to, skip = [] } = range;
    const rows = (this.#lanes.get(lane) ?? []).slice(from, to).filter((_, at) => !skip.includes(from + at));
    const rejected = skip.map((at) => ({ origin: lane, position: String(at), message: "bad" }));
    return {
      lane,
      id: `${lane}:${from}-${to}${skip.length > 0 ? "~" : ""}`,
      replay: range,
      checkpoint: to,
      inserts: [{ sql: "INSERT INTO t FORMAT TSV", body: () => Buffer.from(rows.join("\n")) }],
      rejected,
    };
  }
}
