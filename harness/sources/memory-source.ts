/** A source in memory with lanes like partitions: the smallest one that keeps the contract, and an example of it. */
import type { Batch, InsertFailure, Json, JsonObject, Source } from "../../src/sources/source.ts";

type Range = { readonly lane: string; readonly from: number; readonly to: number; readonly skip?: readonly number[] };

export class MemorySource implements Source {
  readonly #lanes: ReadonlyMap<string, readonly string[]>;
  readonly #batchRows: number;

  constructor(lanes: ReadonlyMap<string, readonly string[]>, batchRows: number) {
    this.#lanes = lanes;
    this.#batchRows = batchRows;
  }

  async *read(checkpoints: ReadonlyMap<string, Json>): AsyncIterable<Batch> {
    const next = new Map([...this.#lanes.keys()].map((lane) => [lane, Number(checkpoints.get(lane) ?? 0)]));
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

  async replay(replay: JsonObject): Promise<Batch> {
    return this.#batch(replay as unknown as Range);
  }

  /** A bad row is left out and recorded; the rows around it stay in their place. */
  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const range = batch.replay as unknown as Range;
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
      replay: range as unknown as JsonObject,
      checkpoint: to,
      inserts: [{ sql: "INSERT INTO t FORMAT TSV", body: () => Buffer.from(rows.join("\n")) }],
      rejected,
    };
  }
}
